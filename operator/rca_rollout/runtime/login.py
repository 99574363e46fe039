"""One way to the API server for both of us: kopf's watches log in with what our own client was configured with.

kopf's own in-cluster login asks the DNS for kubernetes.default.svc; the client takes the address that every Pod has in
its environment, as client-go does, and so works where the cluster's DNS is what has failed.
"""

from __future__ import annotations

import kopf
from kubernetes.aio.client import Configuration


def connection_info(loaded: Configuration) -> kopf.ConnectionInfo:
    """The credentials of a loaded configuration. Called anew whenever the server answers 401: tokens are rotated."""
    bearer = str((loaded.api_key or {}).get("BearerToken") or "")
    scheme, _, token = bearer.partition(" ")
    return kopf.ConnectionInfo(
        server=str(loaded.host),
        ca_path=loaded.ssl_ca_cert,
        insecure=not loaded.verify_ssl,
        certificate_path=loaded.cert_file,
        private_key_path=loaded.key_file,
        scheme=scheme if token else None,
        token=token or None,
    )
