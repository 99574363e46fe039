"""The Job controller and the kubelet, played by hand: a Job gets a Pod, a Pod ends as a test says."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from rca_eval.contract import GroundTruth, encode_frame
from rca_testing.emulator import clock
from rca_testing.emulator.server import ApiServer
from rca_testing.emulator.store import Body
from rca_testing.scorecards import scorecard

CONTAINERS = ("prepare", "eval-1", "eval-2", "scorecard")


def environment(job: Body, container: str = "scorecard") -> dict[str, str]:
    pod = job["spec"]["template"]["spec"]
    every = [*pod["initContainers"], *pod["containers"]]
    found = next(c for c in every if c["name"] == container)
    return {item["name"]: item["value"] for item in found["env"]}


class Kubelet:
    """Acts only through the store, as the real ones do through the API; the operator never sees this object."""

    def __init__(self, server: ApiServer, truth: GroundTruth) -> None:
        self.server, self.truth = server, truth
        self.tag = "sha256:" + "0" * 64
        """What every tag stands for."""

    def start(self, job: Body) -> Body:
        """The Pod that the Job controller makes; a second call finds it."""
        namespace, name = job["metadata"]["namespace"], job["metadata"]["name"]
        existing = self.server.store.objects.get(("pods", namespace, f"{name}-pod"))
        if existing:
            return existing
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"]}
        labels = {**job["spec"]["template"]["metadata"]["labels"], "batch.kubernetes.io/job-name": name}
        pod = {
            "metadata": {"name": f"{name}-pod", "labels": labels, "ownerReferences": [owner]},
            "spec": job["spec"]["template"]["spec"],
            "status": {"phase": "Pending"},
        }
        return self.server.store.create("pods", namespace, pod)

    def measure(self, job: Body, lost: Mapping[str, Collection[str]] | None = None, **changes: Any) -> Any:
        """The scorecard that our own container would make of this Job."""
        env = environment(job)
        variants = [(each["name"], each["modes"]) for each in json.loads(env["RCA_EVAL_VARIANTS"])]
        wanted: dict[str, Any] = {
            "sha256": env["RCA_EVAL_DATASET_SHA256"],
            "revision": env["RCA_EVAL_REVISION"],
            "variants": variants,
            **changes,
        }
        sha256 = wanted.pop("sha256")
        return scorecard(self.truth, sha256, lost=lost, **wanted)

    def image_id(self, image: str) -> str:
        """What is reported to have run."""
        return image if "@" in image else f"{image.partition(':')[0]}@{self.tag}"

    def succeed(
        self,
        job: Body,
        card: Any = None,
        *,
        log: bytes | None = None,
        message: str | None = None,
        judge: tuple[int, str] | None = None,
    ) -> None:
        """Ends the Pod and its Job well, with this scorecard in its log (or these bytes, or these last words). `judge` is
        the exit status and the last words of a container behind the steps."""
        frame = encode_frame(card if card is not None else self.measure(job))
        pod = self.start(job)
        name = pod["metadata"]["name"]
        text = f"reading predictions\n{frame.text}done\n".encode()
        self.server.logs[name, "scorecard"] = text if log is None else log
        told = json.dumps({"sha256": frame.sha256, "bytes": frame.compressed_bytes})
        self._end(
            job,
            pod,
            {
                **dict.fromkeys(CONTAINERS, (0, "")),
                "scorecard": (0, told if message is None else message),
                **({"judge": judge} if judge else {}),
            },
        )

    def fail(self, job: Body, container: str, status: int = 1, message: str = "", **state: Any) -> None:
        """Ends the Pod with a failure of one container; those before it ended well."""
        before = CONTAINERS[: CONTAINERS.index(container)]
        self._end(
            job, self.start(job), {**dict.fromkeys(before, (0, "")), container: (status, message)}, **state
        )

    def _end(self, job: Body, pod: Body, ended: Mapping[str, tuple[int, str]], **state: Any) -> None:
        namespace, now = job["metadata"]["namespace"], clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        well = all(status == 0 for status, _ in ended.values())
        template = job["spec"]["template"]["spec"]
        images = {c["name"]: c["image"] for c in [*template["initContainers"], *template["containers"]]}
        states = [
            {
                "name": name,
                "image": images.get(name, "image"),
                "imageID": self.image_id(images.get(name, "image")),
                "state": {
                    "terminated": {
                        "exitCode": status,
                        "message": message,
                        "startedAt": now,
                        "finishedAt": now,
                        "reason": "Completed" if status == 0 else "Error",
                        **(state if status else {}),
                    }
                },
            }
            for name, (status, message) in ended.items()
        ]

        def finish_pod(body: Body) -> None:
            body["status"] = {
                "phase": "Succeeded" if well else "Failed",
                "initContainerStatuses": [s for s in states if s["name"] != "scorecard"],
                "containerStatuses": [s for s in states if s["name"] == "scorecard"],
            }

        def finish_job(body: Body) -> None:
            kind = "Complete" if well else "Failed"
            body["status"] = {
                "conditions": [{"type": kind, "status": "True", "reason": "BackoffLimitExceeded"}]
            }

        self.server.store.edit("pods", namespace, pod["metadata"]["name"], finish_pod)
        self.server.store.edit("jobs", namespace, job["metadata"]["name"], finish_job)
