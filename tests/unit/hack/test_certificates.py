"""The cluster's certificates are those that strict clients accept."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from pathlib import Path

import pytest

from hack.cluster import kubeconfig
from hack.cluster.certificates import Authority, Pair


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "pki")
    made.ensure()
    return made


def _handshake(authority: Authority, server: Pair, client: Pair, name: str) -> dict[str, object]:
    """A TLS handshake with both sides checked; returns the client's certificate as the server saw it."""
    accepting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    accepting.load_cert_chain(server.certificate, server.key)
    accepting.load_verify_locations(authority.pair.certificate)
    accepting.verify_mode = ssl.CERT_REQUIRED
    calling = ssl.create_default_context(cafile=str(authority.pair.certificate))
    calling.verify_flags |= ssl.VERIFY_X509_STRICT
    calling.load_cert_chain(client.certificate, client.key)
    seen: dict[str, object] = {}
    here, there = socket.socketpair()

    def serve() -> None:
        with accepting.wrap_socket(there, server_side=True) as stream:
            seen.update(stream.getpeercert() or {})
            stream.send(b"x")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with calling.wrap_socket(here, server_hostname=name) as stream:
            assert stream.recv(1) == b"x"
    finally:
        here.close()
        thread.join(5)
    return seen


def test_a_strict_client_and_the_server_accept_each_other(authority: Authority) -> None:
    server = authority.issue("server", common_name="server", names=["localhost"], addresses=["127.0.0.1"])
    client = authority.issue("client", common_name="me", organization="system:masters")
    for name in ("localhost", "127.0.0.1"):
        seen = _handshake(authority, server, client, name)
        assert seen["subject"] == ((("organizationName", "system:masters"),), (("commonName", "me"),))


def test_certificates_are_made_once(authority: Authority) -> None:
    first = authority.issue("client", common_name="me").certificate.read_bytes()
    authority.ensure()
    assert authority.issue("client", common_name="me").certificate.read_bytes() == first


def test_keys_and_kubeconfigs_are_private(authority: Authority, tmp_path: Path) -> None:
    pair = authority.issue("client", common_name="me")
    target = tmp_path / "kubeconfig"
    target.write_text("an older one that everybody may read")
    target.chmod(0o644)
    content = kubeconfig.document(
        context="rca-local", server="https://127.0.0.1:1", authority=authority.pair.certificate, client=pair
    )
    kubeconfig.write(target, content)
    assert target.stat().st_mode & 0o777 == 0o600
    assert json.loads(target.read_text())["current-context"] == "rca-local"
    for path in (pair.key, authority.pair.key):
        assert path.stat().st_mode & 0o077 == 0
