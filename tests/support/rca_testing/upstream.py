"""The API server behind a kubeconfig, for what stands between it and a test: its address, trust and credentials."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
from kubernetes import client, config


class Upstream:
    """`token`: speak with this bearer token instead of the kubeconfig's own credentials."""

    def __init__(self, kubeconfig: Path, token: str | None = None) -> None:
        loaded = client.Configuration()
        config.load_kube_config(str(kubeconfig), client_configuration=loaded)  # type: ignore[no-untyped-call]
        self._context = ssl.create_default_context(cafile=loaded.ssl_ca_cert)
        if loaded.cert_file and not token:
            self._context.load_cert_chain(loaded.cert_file, loaded.key_file)
        given = f"Bearer {token}" if token else loaded.api_key.get("authorization")
        # What is compressed would have to be handed on compressed.
        self._headers = {"Accept-Encoding": "identity", **({"Authorization": given} if given else {})}
        self._host = str(loaded.host).rstrip("/")

    def url(self, path: str) -> str:
        return self._host + path

    def session(self) -> aiohttp.ClientSession:
        """For one loop; no request of it ends by itself."""
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._context, limit=0),
            headers=self._headers,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=2**20,
        )
