"""Two real operator processes and a real API server: killed, stopped, frozen, cut off, forbidden.

Each process has a wire of its own (`rca_testing.wire`), so that who sent what is certain. Bounds are generous, for a
busy machine; what was measured is shown at the end of the ring.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from rca_testing.cluster import Cluster
from rca_testing.node import (
    CHART,
    Api,
    Place,
    baseline,
    component,
    config_map,
    dataset,
    eventually,
    modes,
    suite,
)
from rca_testing.process import OperatorProcess
from rca_testing.wire import Wire

from rca_rollout.runtime.lease_place import LeasePlace
from rca_rollout.runtime.settings import Settings

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

TAKEOVER, HANDOVER = 30.0, 5.0  # seconds; 20 and 3 are promised


@dataclass
class Stage:
    """A namespace with a dataset, the wires and processes in it, and work for them."""

    cluster: Cluster
    place: Place
    folder: Path
    stack: ExitStack
    number: int = 0
    wires: dict[str, Wire] = field(default_factory=dict)

    def start(self, name: str, *, uid: str | None = None) -> OperatorProcess:
        wire = self.wires.setdefault(name, self.stack.enter_context(Wire(self.cluster.kubeconfig).running()))
        kubeconfig = wire.write_kubeconfig(self.folder)
        more = {"uid": uid} if uid else {}
        process = OperatorProcess(name, kubeconfig, self.place.name, self.folder, **more)
        return self.stack.enter_context(process.running())

    def two(self) -> tuple[OperatorProcess, OperatorProcess]:
        """The first leads and works, the second watches and writes nothing."""
        first = self.start("rca-a")
        eventually(lambda: self.is_held_by("rca-a"), seconds=60)
        second = self.start("rca-b")
        eventually(lambda: self._ready(second), seconds=60)
        self.work()
        eventually(lambda: self.has_written("rca-a"), seconds=60)
        assert self.wires["rca-b"].writes() == []
        return first, second

    def work(self, count: int = 1) -> None:
        """Each makes some ten writes for who leads: statuses, runs, Jobs, Events."""
        for _ in range(count):
            self.number += 1
            name = f"c{self.number}"
            self.place.create(
                modes(f"modes-{name}", Mode="Shadow"),
                suite(f"suite-{name}"),
                component(name, suite=f"suite-{name}", target=f"modes-{name}"),
            )

    def lease(self) -> dict[str, Any]:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.place.name}/leases/rca-rollout"
        answer = self.place.api.request("GET", path)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def change_lease(self, method: str, body: Any = None) -> None:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.place.name}/leases"
        named = path if method == "POST" else f"{path}/rca-rollout"
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = self.place.api.request(method, named, body, content=content)
        assert answer.status_code < 300, answer.text

    def is_held_by(self, name: str) -> None:
        holder = self.lease()["spec"].get("holderIdentity") or ""
        assert holder.startswith(f"{name}_"), f"{holder!r} holds the Lease"

    def asks(self, name: str, times: int, *, answered: bool = True) -> None:
        """Returns when this process has asked for the Lease so often, from now on."""
        begun = time.monotonic()

        def look() -> None:
            since = [sent for sent in list(self.wires[name].sent) if sent.about_the_lease and sent.at > begun]
            assert sum(bool(sent.status) == answered for sent in since) >= times, since

        eventually(look, seconds=30, every=0.02)

    def has_written(self, name: str, since: float = 0.0) -> None:
        assert self.wires[name].writes(since), f"{name} has written nothing"

    def took(self, begun: float, name: str, within: float) -> float:
        """Seconds until this process held the Lease."""
        eventually(lambda: self.is_held_by(name), seconds=within, every=0.02)
        return time.monotonic() - begun

    def _ready(self, process: OperatorProcess) -> None:
        try:
            assert process.get("/readyz")[0] == 200, process.log()
        except httpx.HTTPError as error:
            raise AssertionError(process.log()) from error


@pytest.fixture
def stage(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Stage]:
    with ExitStack() as stack:
        api = stack.enter_context(closing(Api(cluster.kubeconfig, cluster.kubectl_binary.parent)))
        place = Place(api, namespace)
        place.create(dataset(), baseline())
        yield Stage(cluster, place, tmp_path, stack)


def test_a_leader_that_is_killed_at_work_is_replaced(stage: Stage, figure: Callable[[str], None]) -> None:
    first, second = stage.two()
    stage.work(5)
    killed = time.monotonic()
    first.signal(signal.SIGKILL)
    held = stage.took(killed, "rca-b", TAKEOVER)
    eventually(lambda: stage.has_written("rca-b", killed), seconds=TAKEOVER, every=0.02)
    wrote = stage.wires["rca-b"].writes(killed)[0].at - killed
    figure(f"leader killed: Lease taken over after {held:.1f} s, first write after {wrote:.1f} s")
    assert wrote > 10, "it could not know so soon that the other is dead"
    assert stage.lease()["spec"]["leaseTransitions"] == 1

    def all_looked_at() -> None:
        for body in stage.place.list("RcaComponent"):
            assert (body.get("status") or {}).get("phase") == "Evaluating", body["metadata"]["name"]

    eventually(all_looked_at, seconds=60)
    assert "rca_leader 1.0" in second.get("/metrics")[1]


def test_a_leader_that_is_told_to_stop_gives_the_lease_back(
    stage: Stage, figure: Callable[[str], None]
) -> None:
    first, _ = stage.two()
    stage.work(3)
    told = time.monotonic()
    first.signal(signal.SIGTERM)
    held = stage.took(told, "rca-b", HANDOVER)
    figure(f"leader told to stop: Lease taken over after {held:.1f} s")
    assert first.ended(10) == 0, first.log()
    assert "given back" in first.log()
    last = max((sent.at for sent in stage.wires["rca-a"].writes()), default=0.0)
    given = max(sent.at for sent in stage.wires["rca-a"].sent if sent.about_the_lease)
    assert last < given, "the Lease goes last"


def test_a_frozen_leader_that_goes_on_writes_nothing(stage: Stage, figure: Callable[[str], None]) -> None:
    """Stopped in the middle of its work, with writes decided on; when it goes on, another leads."""
    first, _ = stage.two()
    wire = stage.wires["rca-a"]
    before = len(wire.writes())
    stage.work(8)

    def at_work() -> None:
        assert len(wire.writes()) > before + 10

    eventually(at_work, seconds=30, every=0.001)
    stopped = time.monotonic()
    first.signal(signal.SIGSTOP)
    held = stage.took(stopped, "rca-b", TAKEOVER)
    eventually(lambda: stage.has_written("rca-b", stopped), seconds=30)
    stage.work(2)
    time.sleep(2)
    versions = {body["metadata"]["uid"]: body for body in stage.place.list("RcaComponent")}
    assert versions
    resumed = time.monotonic()
    first.signal(signal.SIGCONT)
    assert first.ended(20) == 1, first.log()
    late = [sent for sent in wire.sent if sent.writes and sent.at >= resumed]
    figure(f"leader frozen: Lease taken over after {held:.1f} s; writes when it went on: {len(late)}")
    assert late == []
    assert "the leadership is lost" in first.log()
    assert "Traceback" not in first.log()


def test_a_leader_that_cannot_reach_the_api_server_ends_before_another_leads(
    stage: Stage, figure: Callable[[str], None]
) -> None:
    first, _ = stage.two()
    stage.work(5)
    cut = time.monotonic()
    stage.wires["rca-a"].cut()
    assert first.ended(20) == 1, first.log()
    ended = time.monotonic() - cut
    assert stage.wires["rca-b"].writes() == [], "the other waits"
    held = stage.took(cut, "rca-b", TAKEOVER)
    stage.wires["rca-a"].mend()
    figure(f"leader cut off: ended after {ended:.1f} s, Lease taken over after {held:.1f} s")
    assert ended < held
    eventually(lambda: stage.has_written("rca-b", cut), seconds=30)


def test_a_leader_that_is_cut_off_for_a_moment_goes_on(stage: Stage) -> None:
    first, second = stage.two()
    for _ in range(3):
        stage.wires["rca-a"].cut()
        stage.asks("rca-a", 1, answered=False)
        stage.wires["rca-a"].mend()
        stage.asks("rca-a", 1)
    stage.is_held_by("rca-a")
    assert first.alive
    assert second.alive
    assert stage.wires["rca-b"].writes() == []


def test_a_lease_that_is_deleted_by_hand_is_made_anew_by_who_leads(stage: Stage) -> None:
    first, second = stage.two()
    for _ in range(2):
        uid = stage.lease()["metadata"]["uid"]
        stage.change_lease("DELETE")

        def made_anew(uid: str = uid) -> None:
            assert stage.lease()["metadata"]["uid"] != uid
            stage.is_held_by("rca-a")

        eventually(made_anew, seconds=10)
    stage.work()
    stage.asks("rca-b", 2)
    assert first.alive
    assert second.alive
    assert stage.wires["rca-b"].writes() == []


def test_a_lease_in_foreign_hands_is_left_alone_until_it_runs_out(stage: Stage) -> None:
    spec = {"holderIdentity": "maintenance", "leaseDurationSeconds": 20}
    stage.change_lease("POST", {"metadata": {"name": "rca-rollout"}, "spec": spec})
    begun = time.monotonic()
    stage.work()
    process = stage.start("rca-a")
    took = stage.took(begun, "rca-a", 60)
    assert took >= 20
    assert "maintenance leads" in process.log()
    assert all(sent.at - begun >= 20 for sent in stage.wires["rca-a"].writes())


def test_a_leader_that_finds_another_name_in_the_lease_ends(stage: Stage) -> None:
    first, second = stage.two()
    stage.change_lease("PATCH", {"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 3600}})
    assert first.ended(15) == 1
    assert "somebody holds it now" in first.log()
    assert second.alive


def test_a_container_that_starts_anew_leads_again_at_once(
    stage: Stage, figure: Callable[[str], None]
) -> None:
    first, _ = stage.two()
    before = stage.lease()["spec"]["holderIdentity"]
    killed = time.monotonic()
    first.signal(signal.SIGKILL)
    stage.start("rca-a", uid=first.uid)

    def another() -> None:
        assert stage.lease()["spec"]["holderIdentity"] != before

    eventually(another, seconds=TAKEOVER, every=0.02)
    figure(f"leader's container started anew: Lease taken over after {time.monotonic() - killed:.1f} s")
    stage.is_held_by("rca-a")


def test_the_server_gives_up_a_write_whose_time_is_over(stage: Stage) -> None:
    """What our writes ask of it: a time-out of its own, so that nothing is carried out after we have given it up."""
    path = stage.place.path("ConfigMap")
    answer = stage.place.api.request("POST", path, config_map("late", {}), timeout="1ns")
    assert answer.status_code == 504, answer.text
    assert stage.place.find("ConfigMap", "late") is None
    assert stage.place.api.request("POST", path, config_map("late", {}), timeout="10.000s").status_code == 201


# -- the chart


def _rendered(stage: Stage, *settings: str) -> list[dict[str, Any]]:
    flags = [part for setting in settings for part in ("--set", setting)]
    text = stage.place.api.run("helm", "template", "rca", str(CHART), "-n", stage.place.name, *flags)
    return [body for body in yaml.safe_load_all(text) if body]


@pytest.mark.parametrize(
    ("chosen", "namespaces"),
    [
        ((), None),
        (("watch.namespaces={b-team,a-team,a-team-2}",), ("b-team", "a-team", "a-team-2")),
        (("watch.namespaces={shop}",), ("shop",)),
        (("watch.clusterWide=true",), ()),
        (("watch.clusterWide=true", "leaderElection.namespace=ops"), ()),
    ],
)
def test_the_chart_grants_the_lease_that_the_operator_uses(
    stage: Stage, chosen: tuple[str, ...], namespaces: tuple[str, ...] | None
) -> None:
    bodies = _rendered(stage, *chosen)
    [deployment] = [body for body in bodies if body["kind"] == "Deployment"]
    env = {
        e["name"]: e.get("value", "") for e in deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    }
    watched = tuple(filter(None, env["RCA_ROLLOUT_NAMESPACES"].split(",")))
    assert watched == (namespaces if namespaces is not None else (stage.place.name,))
    settings = Settings(watched, "image", "Always", 0, 0, "INFO", "json", timedelta(minutes=1))
    if watched and not any("leaderElection" in each for each in chosen):
        # Also without the chart's word for it.
        assert LeasePlace.of(settings).namespace == env["RCA_ROLLOUT_LEASE_NAMESPACE"]
    told = Settings(**{**settings.__dict__, "lease_namespace": env["RCA_ROLLOUT_LEASE_NAMESPACE"]})
    place = LeasePlace.of(told)
    [role] = [
        body for body in bodies if body["kind"] == "Role" and body["metadata"]["name"].endswith("-lease")
    ]
    assert role["metadata"]["namespace"] == place.namespace
    assert role["rules"][0]["resourceNames"] == [place.name]


def test_without_rights_on_the_lease_it_ends_with_a_sentence_and_with_the_charts_it_leads(
    stage: Stage, cluster: Cluster, tmp_path: Path
) -> None:
    name = stage.place.name
    rights = [b for b in _rendered(stage) if b["kind"] in ("Role", "RoleBinding", "ServiceAccount")]
    lease = [body for body in rights if body["metadata"]["name"].endswith("-lease")]
    assert len(lease) == 2
    stage.place.kubectl("create", "-f", _file(tmp_path, [body for body in rights if body not in lease]))
    process = OperatorProcess("rca-a", _as_account(stage, tmp_path), name, tmp_path)
    with process.running():
        assert process.ended(30) == 1
    assert f"the Lease rca-rollout in namespace {name}" in process.log()
    assert "forbidden" in process.log()
    assert "Traceback" not in process.log()
    stage.place.kubectl("create", "-f", _file(tmp_path, lease))
    process = OperatorProcess("rca-a", _as_account(stage, tmp_path), name, tmp_path)
    stage.work()
    with process.running():
        eventually(lambda: stage.is_held_by("rca-a"), seconds=60)

        def looked_at() -> None:
            assert (stage.place.get("RcaComponent", "c1").get("status") or {}).get("phase") == "Evaluating"

        eventually(looked_at, seconds=30)
        process.signal(signal.SIGTERM)
        assert process.ended(15) == 0, process.log()
    assert "holderIdentity" not in stage.lease()["spec"]


def _file(folder: Path, bodies: list[dict[str, Any]]) -> str:
    path = folder / f"rights-{len(bodies)}.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}))
    return str(path)


def _as_account(stage: Stage, folder: Path) -> Path:
    """A kubeconfig of the chart's service account."""
    token = stage.place.kubectl("create", "token", "rca-rca-rollout").strip()
    loaded = yaml.safe_load(stage.cluster.kubeconfig.read_text())
    loaded["users"] = [{"name": user["name"], "user": {"token": token}} for user in loaded["users"]]
    path = folder / "account.yaml"
    path.write_text(yaml.safe_dump(loaded))
    return path
