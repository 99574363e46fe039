"""A Deployment of the agent, and its controllers played by hand: a rollout is what a test says it is, step by step."""

from __future__ import annotations

from typing import Any

from rca_testing.emulator.lab import NAMESPACE, Lab
from rca_testing.emulator.store import Body

NAME = "agent"
ANNOTATION = "rca.bluerobin.io/revision"


def digest(letter: str) -> str:
    return "sha256:" + letter * 64


class Agent:
    """`roll` is a whole rollout; `begin` and `end` are its two halves. Two replicas."""

    def __init__(self, lab: Lab, revision: str, image: str) -> None:
        self.lab, self.number = lab, 1
        lab.create("deployments", NAME, spec=self._spec(revision), status={})
        self._pods(revision, image, "h1")
        self._status(updated=2)

    def begin(self, revision: str, image: str) -> None:
        """The template is changed, and the first new Pod runs beside an old one."""
        self.number += 1

        def change(body: Body) -> None:
            body["spec"] = self._spec(revision)
            body["metadata"]["generation"] = self.number

        self.lab.store.edit("deployments", NAMESPACE, NAME, change)
        self._drop(1)
        self._pods(revision, image, f"h{self.number}", only=1)
        self._status(updated=1)

    def end(self, revision: str, image: str) -> None:
        self._drop(0)
        self._drop(1)
        self._pods(revision, image, f"h{self.number}")
        self._status(updated=2)

    def roll(self, revision: str, image: str) -> None:
        self.begin(revision, image)
        self.end(revision, image)

    def restart(self, revision: str, image: str) -> None:
        """Its Pods come again, of the same template: a tag may be another image by then."""
        self._drop(0)
        self._drop(1)
        self._pods(revision, image, f"h{self.number}")

    def _spec(self, revision: str) -> dict[str, Any]:
        return {
            "replicas": 2,
            "selector": {"matchLabels": {"app": NAME}},
            "template": {
                "metadata": {"labels": {"app": NAME}, "annotations": {ANNOTATION: revision}},
                "spec": {"containers": [{"name": "engine", "image": "registry.example/agent:latest"}]},
            },
        }

    def _pods(self, revision: str, image: str, hash_: str, only: int | None = None) -> None:
        for number in (0, 1) if only is None else (only,):
            owner = {"kind": "ReplicaSet", "name": f"{NAME}-{hash_}", "uid": hash_, "controller": True}
            metadata = {
                "labels": {"app": NAME, "pod-template-hash": hash_},
                "annotations": {ANNOTATION: revision},
                "ownerReferences": [owner],
            }
            state = {"name": "engine", "imageID": f"registry.example/agent@{image}", "state": {"running": {}}}
            status = {"phase": "Running", "containerStatuses": [state]}
            self.lab.create("pods", f"{NAME}-{number}", metadata=metadata, spec={}, status=status)

    def _drop(self, number: int) -> None:
        if ("pods", NAMESPACE, f"{NAME}-{number}") in self.lab.store.objects:
            self.lab.store.delete("pods", NAMESPACE, f"{NAME}-{number}")

    def _status(self, *, updated: int) -> None:
        def change(body: Body) -> None:
            counts = {"replicas": 2, "updatedReplicas": updated}
            body["status"] = {"observedGeneration": body["metadata"]["generation"], **counts}

        self.lab.store.edit("deployments", NAMESPACE, NAME, change)
