"""What of the builder's own pip settings an image build is lent."""

from __future__ import annotations

import configparser
from pathlib import Path

from hack.cluster.pipconfig import CA_TARGET, lend, parse_listing


def _read(conf: str) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(conf)
    return parser["global"]


def test_the_environment_wins_over_files_and_install_over_global() -> None:
    listing = (
        ":env:.index-url='https://env.example/simple'\n"
        "global.index-url='https://file.example/simple'\n"
        "global.timeout='10'\n"
        "install.timeout='20'\n"
        "freeze.timeout='30'\n"
        "nonsense\n"
    )
    assert parse_listing(listing) == {"index-url": "https://env.example/simple", "timeout": "20"}


def test_the_certificates_are_named_where_the_build_sees_them(tmp_path: Path) -> None:
    bundle = tmp_path / "company.pem"
    bundle.write_text("certificates")
    lent = lend({"cert": str(bundle)}, {})
    assert lent.ca_bundle == bundle
    assert _read(lent.conf)["cert"] == CA_TARGET
    assert str(bundle) not in lent.conf


def test_the_bundle_of_the_environment_is_used_when_pip_has_none(tmp_path: Path) -> None:
    bundle = tmp_path / "env.pem"
    bundle.write_text("certificates")
    assert lend({}, {"SSL_CERT_FILE": str(bundle)}).ca_bundle == bundle


def test_a_wheel_directory_is_lent_only_when_it_exists(tmp_path: Path) -> None:
    lent = lend({"find-links": f"{tmp_path} /does/not/exist https://wheels.example/"}, {})
    assert lent.directories == (tmp_path,)
    assert _read(lent.conf)["find-links"].split() == [str(tmp_path), "https://wheels.example/"]


def test_settings_of_the_builders_own_machine_are_not_lent() -> None:
    conf = lend({"cache-dir": "/home/me", "target": "/x", "index-url": "https://a.example/%20/"}, {}).conf
    assert _read(conf)["index-url"] == "https://a.example/%20/"
    assert "cache-dir" not in conf
    assert "target" not in conf
