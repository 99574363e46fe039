"""The builder's own pip settings and certificates, lent to a build and never put into an image.

A mirror, a proxy or a company's CA differ from machine to machine, so no Dockerfile can know them. They are
mounted over /etc/pip.conf and the CA bundle for the time of each RUN. Build arguments would do too, but
they end up in the image's history, and a mirror's address may hold a password. Wheels downloaded beforehand
would need the tool to know every lock file and the image's platform; with a mount, the Dockerfile is the
same one that Docker builds.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

CA_TARGET = "/etc/ssl/certs/ca-certificates.crt"
CONF_TARGET = "/etc/pip.conf"
_KEPT = (
    "index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "default-timeout", "retries",
    "find-links", "no-index", "prefer-binary",
)  # fmt: skip
_CA_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@dataclass(frozen=True)
class Lent:
    """What a build gets: pip.conf's text, the CA bundle, and local wheel directories at their own paths."""

    conf: str
    ca_bundle: Path | None
    directories: tuple[Path, ...]


def parse_listing(listing: str) -> dict[str, str]:
    """`pip config list` into one mapping; the install section wins over global, the environment over both."""
    ranks = {"global": 0, "install": 1, ":env:": 2}
    best: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        name, equals, quoted = line.partition("=")
        section, dot, key = name.strip().partition(".")
        if not equals or not dot or section not in ranks:
            continue
        try:
            value = str(ast.literal_eval(quoted))
        except (ValueError, SyntaxError):
            continue
        if key not in best or best[key][0] <= ranks[section]:
            best[key] = (ranks[section], value)
    return {key: value for key, (_, value) in best.items()}


def lend(settings: Mapping[str, str], environment: Mapping[str, str]) -> Lent:
    """Choose what a build needs; a local wheel directory that does not exist is left out."""
    kept = {key: settings[key] for key in _KEPT if settings.get(key, "").strip()}
    links, directories = _links(kept.pop("find-links", "").split())
    if links:
        kept["find-links"] = "\n    ".join(links)
    candidates = [settings.get("cert", ""), *(environment.get(name, "") for name in _CA_VARIABLES), CA_TARGET]
    bundle = next((Path(item) for item in candidates if item and Path(item).is_file()), None)
    if bundle is not None:
        kept["cert"] = CA_TARGET
    kept["disable-pip-version-check"] = "true"
    lines = ["[global]", *(f"{key} = {value}" for key, value in kept.items())]
    return Lent(conf="\n".join(lines) + "\n", ca_bundle=bundle, directories=tuple(directories))


def _links(items: Iterable[str]) -> tuple[list[str], list[Path]]:
    links: list[str] = []
    directories: list[Path] = []
    for item in items:
        if "://" in item and not item.startswith("file://"):
            links.append(item)
        elif (path := Path(item.removeprefix("file://"))).is_dir():
            links.append(str(path))
            directories.append(path)
    return links, directories


def of_this_machine() -> Lent:
    """Ask this machine's pip; without pip, a build gets only the certificates."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return lend(parse_listing(answer.stdout if answer.returncode == 0 else ""), os.environ)
