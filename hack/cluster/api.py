"""Asking the API server, without any library: one GET with the cluster's own client certificate."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from hack.cluster.certificates import Authority, Pair


@dataclass(frozen=True)
class Api:
    """A client of one server."""

    server: str
    authority: Authority
    client: Pair

    def get(self, path: str, seconds: float = 3.0) -> tuple[int, bytes]:
        """Status and body; 0 and the reason when there is no server."""
        try:
            context = ssl.create_default_context(cafile=str(self.authority.pair.certificate))
            context.load_cert_chain(self.client.certificate, self.client.key)
            parts = urlsplit(self.server)
            connection = http.client.HTTPSConnection(parts.netloc, context=context, timeout=seconds)
            try:
                connection.request("GET", path, headers={"Accept": "application/json"})
                response = connection.getresponse()
                return response.status, response.read()
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error).encode()

    def ready(self) -> bool:
        return self.get("/readyz")[0] == 200

    def exists(self, path: str) -> bool:
        return self.get(path)[0] == 200

    def node_ready(self, name: str) -> bool:
        """Ready, rid of the taint that keeps Pods away until the controller has seen it, and kubelet answers.

        The last matters after a repair: the condition in the API is then still the dead kubelet's.
        """
        status, body = self.get(f"/api/v1/nodes/{name}")
        if status != 200:
            return False
        node = json.loads(body)
        conditions = {item["type"]: item["status"] for item in node.get("status", {}).get("conditions", [])}
        if conditions.get("Ready") != "True" or node["spec"].get("taints"):
            return False
        return self.exists(f"/api/v1/nodes/{name}/proxy/healthz")

    def node_knows_its_pods(self, name: str) -> bool:
        """Whether kubelet has heard of every Pod assigned to it: a restarted one knows none for a moment."""

        def uids(path: str) -> set[str] | None:
            status, body = self.get(path)
            if status != 200:
                return None
            return {str(item["metadata"]["uid"]) for item in json.loads(body).get("items") or []}

        assigned = uids(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")
        known = uids(f"/api/v1/nodes/{name}/proxy/pods")
        return assigned is not None and known is not None and assigned <= known
