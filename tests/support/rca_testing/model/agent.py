"""The workload that runs a component, and the prompt beside its image: who rolls it, and what its Pods would really do.

Nothing here asks the operator what runs. A Pod is a consumer: it knows its own revision, reads the key, and is Active where
the word is its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rca_rollout.kube.resources import CONFIGMAPS, DEPLOYMENTS, PODS
from rca_testing.model.store import Body, Objects, Store

NAME, PROMPTS, KEY = "agent", "prompts", "system.txt"
ANNOTATION = "rca.bluerobin.io/revision"
REPOSITORY = "registry.example/agent"
BOUND = "Active@{revision}"
WORKLOAD: Body = {"kind": "Deployment", "name": NAME}
INPUTS: list[Body] = [{"configMapRef": {"name": PROMPTS, "key": KEY}}]


def digest(letter: str) -> str:
    return "sha256:" + letter * 64


@dataclass(frozen=True)
class Truth:
    """What one consumer is: the name that it knows as its own, the image that it was started from, the prompt that it reads."""

    revision: str | None
    digest: str | None
    prompt: str | None

    def acts(self, value: str | None, active: str) -> bool:
        """Whether it governs, where this value stands in its key and this is the word for Active."""
        if "{revision}" not in active:
            return value == active
        return self.revision is not None and value == active.replace("{revision}", self.revision)


class Agent:
    """A Deployment of two Pods. `begin` and `end` are the halves of a rollout; no watch tells of any of it."""

    def __init__(self, store: Store) -> None:
        self._store, self._number = store, 0
        self._wanted = ("r1", "a")

    def roll(self, revision: str, letter: str) -> None:
        self.begin(revision, letter)
        self.end()

    def begin(self, revision: str, letter: str) -> None:
        """The template is another one, and one of the Pods is of it."""
        self._number += 1
        self._wanted = (revision, letter)
        store = self._store
        spec = _spec(revision)
        if store.find(DEPLOYMENTS, NAME) is None:
            store.create(DEPLOYMENTS, {"metadata": {"name": NAME}, "spec": spec}, "kubectl")
        else:
            # A rollout that only restarts is another template, too.
            annotations = spec["template"]["metadata"]["annotations"]
            annotations["kubectl.kubernetes.io/restartedAt"] = str(self._number)
            store.change(DEPLOYMENTS, NAME, "kubectl", spec=spec)
        self._pod(1, self._number, letter)
        self._counts(updated=1)

    def end(self) -> None:
        for number in (0, 1):
            self._pod(number, self._number, self._wanted[1])
        self._counts(updated=2)

    def move_tag(self, letter: str, *, half: bool) -> None:
        """The same template, and Pods that came again since the tag was moved."""
        self._wanted = (self._wanted[0], letter)
        for number in (1,) if half else (0, 1):
            self._pod(number, self._number, letter)

    def scale_away(self) -> None:
        """No Pod is left."""
        for number in (0, 1):
            if self._store.find(PODS, f"{NAME}-{number}"):
                self._store.delete(PODS, f"{NAME}-{number}")

    def prompt(self, text: str | None) -> None:
        """Another prompt; None takes the key away."""
        data = {} if text is None else {KEY: text}
        if self._store.find(CONFIGMAPS, PROMPTS) is None:
            self._store.create(CONFIGMAPS, {"metadata": {"name": PROMPTS}, "data": data}, "kubectl")
        else:
            self._store.change(CONFIGMAPS, PROMPTS, "kubectl", data=data)

    def _counts(self, *, updated: int) -> None:
        seen = self._store.get(DEPLOYMENTS, NAME)["metadata"]["generation"]
        counts = {"observedGeneration": seen, "replicas": 2, "updatedReplicas": updated}
        self._store.change(DEPLOYMENTS, NAME, "deployment-controller", status=counts)

    def _pod(self, number: int, template: int, letter: str) -> None:
        name, hash_ = f"{NAME}-{number}", f"h{template}"
        uid = self._store.get(DEPLOYMENTS, NAME)["metadata"]["uid"]  # there are no ReplicaSets here
        owner = {"kind": "ReplicaSet", "name": f"{NAME}-{hash_}", "uid": uid, "controller": True}
        if self._store.find(PODS, name):
            self._store.delete(PODS, name)
        state = {"name": "engine", "imageID": f"{REPOSITORY}@{digest(letter)}", "state": {"running": {}}}
        body = {
            "metadata": {
                "name": name,
                "labels": {"app": NAME, "pod-template-hash": hash_},
                "annotations": {ANNOTATION: self._wanted[0]},
                "ownerReferences": [owner],
            },
            "status": {"phase": "Running", "containerStatuses": [state]},
        }
        self._store.create(PODS, body, "kubelet")


def _spec(revision: str) -> dict[str, Any]:
    return {
        "replicas": 2,
        "selector": {"matchLabels": {"app": NAME}},
        "template": {
            "metadata": {"labels": {"app": NAME}, "annotations": {ANNOTATION: revision}},
            "spec": {"containers": [{"name": "engine", "image": f"{REPOSITORY}:latest"}]},
        },
    }


def truths(spec: Mapping[str, Any], objects: Objects) -> frozenset[Truth]:
    """All consumers that run now, of a component with this spec. Of a revision that is only named there is one."""
    prompt = prompt_in(objects) if spec.get("inputs") else None
    if not spec.get("workloadRef"):
        return frozenset({Truth(spec.get("revision"), None, prompt)})
    return frozenset(
        Truth(
            body["metadata"]["annotations"][ANNOTATION],
            body["status"]["containerStatuses"][0]["imageID"].partition("@")[2],
            prompt,
        )
        for (plural, name), body in objects.items()
        if plural == "pods" and name.startswith(f"{NAME}-")
    )


def rolled(objects: Objects) -> bool:
    """Whether the workload is whole: every Pod that is wanted is there, and of the newest template."""
    status = objects.get(("deployments", NAME), {}).get("status") or {}
    return bool(status) and status["updatedReplicas"] == status["replicas"]


def prompt_in(objects: Objects) -> str | None:
    """What the consumers read as their prompt now."""
    found: str | None = (objects.get(("configmaps", PROMPTS), {}).get("data") or {}).get(KEY)
    return found


__all__ = [
    "ANNOTATION",
    "BOUND",
    "INPUTS",
    "PROMPTS",
    "WORKLOAD",
    "Agent",
    "Truth",
    "digest",
    "prompt_in",
    "rolled",
    "truths",
]
