"""A namespace of a real API server with a dataset, a suite, a component, a machine that runs its Jobs, and an operator
process on a wire of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rca_eval.contract import canonical, encode_frame, parse_ground_truth, sha256
from rca_testing import scorecards
from rca_testing.machine import Ending, Machine, succeeded
from rca_testing.node import Api, Place, component, condition, config_map, eventually, modes
from rca_testing.quick_process import QuickProcess
from rca_testing.wire import Wire

KEY = "RcaLiveActivation.Mode"
# As short as the API allows: the gate, and a closing run.
OBSERVATION = {"period": "0s", "interval": "1s", "minPassingRuns": 2}
DATASET = (Path(__file__).parents[3] / "harness/rca_eval/data/ground-truth.seed.json").read_bytes()
_TRUTH = parse_ground_truth(DATASET, source="the seed profile")
_SHA256 = sha256(DATASET)
_BASELINE = canonical(scorecards.baseline(_TRUTH, _SHA256)).decode()
_FRAMES: dict[tuple[str, str, str], tuple[bytes, str]] = {}

type Body = dict[str, Any]


def measured(pod: Body, lost: Mapping[str, Collection[str]]) -> Ending:
    """The Pod ends well, with the scorecard that our own container would make of it."""
    card = next(each for each in pod["spec"]["containers"] if each["name"] == "scorecard")
    env = {each["name"]: each.get("value", "") for each in card["env"]}
    asked = (env["RCA_EVAL_REVISION"], env["RCA_EVAL_VARIANTS"], repr(sorted(lost.items())))
    if asked not in _FRAMES:
        variants = [(each["name"], each["modes"]) for each in json.loads(asked[1])]
        made = scorecards.scorecard(_TRUTH, _SHA256, revision=asked[0], variants=variants, lost=lost)
        frame = encode_frame(made)
        words = json.dumps({"sha256": frame.sha256, "bytes": frame.compressed_bytes})
        _FRAMES[asked] = (f"reading predictions\n{frame.text}done\n".encode(), words)
    log, words = _FRAMES[asked]
    return succeeded(pod, logs={"scorecard": log}, words={"scorecard": words})


@dataclass
class ApiWorld:
    """`lost` names what With loses from now on: a regression."""

    place: Place
    machine: Machine
    wire: Wire
    folder: Path
    lost: tuple[str, ...] = ()
    held: bool = False
    """Pods that start now run on, and do not end."""
    pod: str = "rca-0"
    settings: Mapping[str, str] = field(default_factory=dict)
    namespaces: str | None = None
    """What the operator watches: None for the namespace of this world, empty for the whole cluster."""
    process: QuickProcess | None = None
    stack: ExitStack = field(default_factory=ExitStack)
    """What ends with the world."""
    starts: int = 0
    started_at: float = 0.0

    # -- the operator

    def start(self) -> QuickProcess:
        """A new process of the same Pod."""
        self.starts += 1
        self.started_at = time.monotonic()
        watched = self.place.name if self.namespaces is None else self.namespaces
        self.process = QuickProcess(
            self.pod,
            self.wire.write_kubeconfig(self.folder),
            watched,
            self.folder,
            uid="6a1f",
            variables=self.settings,
        )
        return self.process.start()

    def kill(self) -> None:
        if self.process:
            self.process.kill()

    def log(self) -> str:
        return self.process.log() if self.process else ""

    # -- users

    def everything(self, name: str = "live", **spec: Any) -> None:
        self.data()
        self.place.create(modes("modes", **{KEY: "Shadow"}), self.suite())
        self.component(name, **spec)

    def data(self) -> None:
        content = {"ground-truth.json": DATASET.decode(), "baseline.json": _BASELINE}
        self.place.create(config_map("incidents", content))

    def suite(self, name: str = "suite", **job_settings: Any) -> Body:
        source = {"configMapRef": {"name": "incidents"}}
        job = {
            "nodeSelector": self.machine.selector(),
            "tolerations": self.machine.tolerations(),
            **job_settings,
        }
        return {
            "apiVersion": "rca.bluerobin.io/v1alpha1",
            "kind": "EvalSuite",
            "metadata": {"name": name},
            "spec": {"dataset": source, "baseline": source, "job": job},
        }

    def component(self, name: str = "live", **spec: Any) -> None:
        wanted = {"observation": OBSERVATION, "guard": {"interval": "720h"}, **spec}
        self.place.create(component(name, suite="suite", target="modes", key=KEY, **wanted))

    def end(self, pod: Body) -> None:
        """Ends a Pod that was held."""
        self.machine.end(pod, measured(pod, {"With": self.lost} if self.lost else {}))

    # -- looking

    def status(self, name: str = "live") -> Body:
        status: Body = self.place.get("RcaComponent", name).get("status") or {}
        return status

    def condition(self, kind: str, name: str = "live") -> Body:
        return condition(self.place.get("RcaComponent", name), kind)

    def mode(self) -> str:
        return str(self.place.get("ConfigMap", "modes")["data"].get(KEY))

    def events(self, kind: str = "RcaComponent") -> list[Body]:
        found = [each for each in self.place.list("Event") if each["involvedObject"]["kind"] == kind]
        ours = [each for each in found if each.get("reportingComponent") == "rca-rollout"]
        return sorted(
            ours, key=lambda each: (each["firstTimestamp"], int(each["metadata"]["resourceVersion"]))
        )

    def until[T](self, look: Callable[[], T], *, within: float = 120, every: float = 0.25) -> T:
        """What `look` returns, once it is true."""

        def asked() -> T:
            found = look()
            assert found, self.story()
            return found

        return eventually(asked, seconds=within, every=every)

    def phase(self, wanted: str, *, name: str = "live", within: float = 120) -> Body:
        self.until(lambda: self.status(name).get("phase") == wanted, within=within)
        return self.status(name)

    def story(self) -> str:
        """For a failed test: what stands, and the last requests."""
        lines = [f"{self.place.name}: mode {self.mode()}, {self.starts} processes"]
        for kind in ("RcaComponent", "EvalRun", "Job", "Pod"):
            for body in self.place.list(kind):
                status = body.get("status") or {}
                told = [
                    f"{c['type']}={c['status']}/{c.get('reason')}: {c.get('message')}"
                    for c in status.get("conditions") or []
                ]
                lines.append(f"{kind}/{body['metadata']['name']} {status.get('phase')} {'; '.join(told)}")
        lines += [f"{sent.what} {sent.name} {sent.status}" for sent in self.wire.sent[-30:]]
        return "\n".join([*lines, self.log()[-3000:]])


@contextmanager
def api_world(
    api: Api, namespace: str, machine: Machine, folder: Path, *, token: str | None = None
) -> Iterator[ApiWorld]:
    """In a namespace that is there. The operator is started by `ApiWorld.start`, and dead afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    with Wire(api.kubeconfig, token).running() as wire:
        world = ApiWorld(Place(api, namespace), machine, wire, folder)

        def script(pod: Body) -> Ending | None:
            evaluates = any(each["name"] == "scorecard" for each in pod["spec"]["containers"])
            return (
                None
                if world.held or not evaluates
                else measured(pod, {"With": world.lost} if world.lost else {})
            )

        machine.scripts[namespace] = script
        try:
            yield world
        finally:
            world.kill()
            world.stack.close()
            machine.scripts.pop(namespace, None)
