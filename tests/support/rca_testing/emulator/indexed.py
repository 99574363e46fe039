"""The Job controller for Indexed Jobs, played by hand: one Pod an index, made anew when it is taken away."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rca_eval.contract import Scorecard, encode_frame
from rca_eval.contract.dealing import Share
from rca_eval.contract.part import ScorecardPart
from rca_testing.emulator import clock
from rca_testing.emulator.kubelet import CONTAINERS, environment
from rca_testing.emulator.lab import Lab
from rca_testing.emulator.store import Body
from rca_testing.parts import cut

INDEX = "batch.kubernetes.io/job-completion-index"


class Indexed:
    """One Indexed Job. Every method is one step that a real controller or kubelet takes."""

    def __init__(self, lab: Lab, job: Body) -> None:
        assert job["spec"]["completionMode"] == "Indexed", job["spec"]
        self.lab, self.job = lab, job
        self.name: str = job["metadata"]["name"]
        self.count: int = job["spec"]["completions"]
        self._tries = dict.fromkeys(range(self.count), 0)
        self._ended: set[int] = set()

    def pod(self, index: int) -> str:
        return f"{self.name}-{index}-{self._tries[index]}"

    def start(self, index: int) -> Body:
        """A Pod for the index; a second call makes another one."""
        self._tries[index] += 1
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": self.name,
            "uid": self.job["metadata"]["uid"],
        }
        template = self.job["spec"]["template"]
        labels = {
            **template["metadata"]["labels"],
            "batch.kubernetes.io/job-name": self.name,
            INDEX: str(index),
        }
        body = {
            "metadata": {"name": self.pod(index), "labels": labels, "ownerReferences": [owner]},
            "spec": template["spec"],
            "status": {"phase": "Pending"},
        }
        return self.lab.store.create("pods", self.job["metadata"]["namespace"], body)

    def start_all(self) -> None:
        for index in range(self.count):
            self.start(index)

    def part(self, index: int, card: Scorecard | None = None, **changes: Any) -> ScorecardPart:
        """What this shard would print of this scorecard, or of the one that the Job is made for."""
        whole = card if card is not None else self.lab.kubelet.measure(self.job, **changes)
        env = environment(self.job)
        return cut(whole, Share(index, int(env["RCA_EVAL_SHARDS"])), run=env["RCA_EVAL_RUN"])

    def succeed(
        self, index: int, part: ScorecardPart | None = None, *, log: bytes | None = None, seconds: int = 1
    ) -> None:
        """The shard's Pod ends well, with this part in its log; the last one completes the Job."""
        frame = encode_frame(part if part is not None else self.part(index))
        self.lab.server.logs[self.pod(index), "scorecard"] = (
            f"scoring\n{frame.text}done\n".encode() if log is None else log
        )
        told = json.dumps({"sha256": frame.sha256, "bytes": frame.compressed_bytes})
        self._set(
            index, "Succeeded", {name: _ended(0, told if name == "scorecard" else "") for name in CONTAINERS}
        )
        self._ended.add(index)
        if len(self._ended) == self.count:
            self.condition("Complete", "CompletionsReached")

    def fail(self, index: int, container: str, status: int = 1, **state: Any) -> None:
        before = CONTAINERS[: CONTAINERS.index(container)]
        states = {**{name: _ended(0, "") for name in before}, container: _ended(status, "", **state)}
        self._set(index, "Failed", states)

    def take_away(self, index: int) -> None:
        """The Pod is deleted and gone, whatever it was doing."""
        self.lab.store.delete("pods", self.job["metadata"]["namespace"], self.pod(index))

    def disrupt(self, index: int) -> None:
        """Evicted: it stays as a failed Pod, and another one is made."""
        target = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "drain",
        }
        self._edit(index, lambda body: body.update(status={"phase": "Failed", "conditions": [target]}))
        self.start(index)

    def condition(self, kind: str, reason: str, message: str = "") -> None:
        found = {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": _now(),
        }
        self.lab.store.edit(
            "jobs",
            self.job["metadata"]["namespace"],
            self.name,
            lambda body: body.update(status={"conditions": [found]}),
        )

    def _set(self, index: int, phase: str, states: dict[str, Body]) -> None:
        listed = [
            {"name": name, "image": "i", "imageID": "sha256:0", "state": one} for name, one in states.items()
        ]
        status = {
            "phase": phase,
            "initContainerStatuses": [one for one in listed if one["name"] != "scorecard"],
            "containerStatuses": [one for one in listed if one["name"] == "scorecard"],
        }
        self._edit(index, lambda body: body.update(status=status))

    def _edit(self, index: int, change: Callable[[Body], Any]) -> None:
        self.lab.store.edit("pods", self.job["metadata"]["namespace"], self.pod(index), change)


def _ended(status: int, message: str, **more: Any) -> Body:
    reason = "Completed" if status == 0 else "Error"
    times = {"startedAt": _now(), "finishedAt": _now()}
    return {"terminated": {"exitCode": status, "message": message, "reason": reason, **times, **more}}


def _now() -> str:
    return clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
