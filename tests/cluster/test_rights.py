"""The chart's rights are exactly what the operator uses: it runs as the chart's account, and everything it sends is seen.

One verb too few is a 403 on some road. One too many is a right that no road of this file uses: a new rule needs a road
here (a part of `ROADS`), or does not belong into the chart.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rca_testing.api_world import KEY, OBSERVATION, ApiWorld, api_world
from rca_testing.cluster import Cluster
from rca_testing.machine import Machine
from rca_testing.node import Api, Place, component, modes
from rca_testing.rights import Right, account, granted, refused, rendered, sentence, used
from rca_testing.supervisor import Supervisor
from rca_testing.wire import Sent
from rca_testing.wire_faults import Answer, Lagging, ResetAfter, Rule, is_

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds"), pytest.mark.timeout(600)]

# Rights that no road uses, each with the reason why it is granted, and the test that needs it.
EXCEPTIONS: Mapping[Right, str] = {}


def _promoted(world: ApiWorld, run: Supervisor) -> None:
    """To Active; the answer to the first Job is lost, so that it is looked for. With the finalizer."""
    world.wire.rules += [Rule(is_("watch", "jobs"), Lagging(5.0)), Rule(is_("create", "jobs"), ResetAfter())]
    world.component(deletionPolicy="RevertToShadow")
    run.until(lambda world: world.status().get("phase") == "Active")


def _name_taken(world: ApiWorld, run: Supervisor) -> None:
    """Somebody's Job stands where a run's Job was to be made: it is looked at, and told."""
    busy = Rule(is_("create", "jobs"), Answer(503, "ServiceUnavailable"), times=1_000_000)
    world.wire.rules.append(busy)
    before = {run["metadata"]["name"] for run in world.place.list("EvalRun")}
    world.place.spec("RcaComponent", "live", guard={"interval": "1s"})
    run.until(lambda world: _wants_job(world, before))
    name = _wants_job(world, before)
    pod = {
        "restartPolicy": "Never",
        "containers": [{"name": "theirs", "image": "theirs.example/job:1"}],
    }
    theirs = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }
    world.place.create(theirs)
    world.wire.rules.remove(busy)
    run.until(lambda world: _asked(world, "get jobs"))
    world.place.delete("Job", name)
    world.place.spec("RcaComponent", "live", guard={"interval": "720h"})


def _superseded(world: ApiWorld, run: Supervisor) -> None:
    """A Job that runs on is deleted when its run is not wanted any more."""
    world.held = True
    world.place.spec("RcaComponent", "live", guard={"interval": "1s"})
    run.until(lambda world: any(_running(job) for job in world.place.list("Job")))
    world.place.spec("RcaComponent", "live", guard={"interval": "720h"}, revision="r2")
    run.until(lambda world: "Superseded" in _phases(world))
    run.until(lambda world: _asked(world, "delete jobs"))
    world.held = False
    world.place.spec("RcaComponent", "live", mode="Shadow")


def _pruned(world: ApiWorld, run: Supervisor) -> None:
    """More runs than are kept."""
    world.place.spec("EvalSuite", "suite", historyLimits={"passed": 1, "other": 1})
    run.until(lambda world: _asked(world, "delete evalruns"))
    quiet = {**OBSERVATION, "interval": "720h"}
    world.place.spec("RcaComponent", "live", observation=quiet)


def _workloads(world: ApiWorld, run: Supervisor) -> None:
    """What runs is read from each kind of workload."""
    kinds = {"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}
    for kind in kinds:
        name = f"of-{kind.lower()}"
        world.place.create(modes(name, Other="Shadow"))
        body = component(name, suite="suite", target=name, key=f"Other{kind}")
        del body["spec"]["revision"]
        body["spec"]["target"]["key"] = "Other"
        body["spec"]["workloadRef"] = {"kind": kind, "name": "agent"}
        world.place.create(body)
    run.until(lambda world: all(_asked(world, f"get {each}") for each in kinds.values()))


def _secret(world: ApiWorld, run: Supervisor) -> None:
    """An input that is a Secret."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "prompt"},
        "data": {"key": base64.b64encode(b"think").decode()},
    }
    answer = world.place.api.request("POST", f"/api/v1/namespaces/{world.place.name}/secrets", secret)
    assert answer.status_code == 201, answer.text
    world.place.spec("RcaComponent", "live", inputs=[{"secretRef": {"name": "prompt", "key": "key"}}])
    run.until(lambda world: _asked(world, "get secrets"))


def _refused_pods(world: ApiWorld, run: Supervisor) -> None:
    """A Job that gets no Pod: the Events about it are read."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"pods": "0"}},
    }
    world.place.create(quota)
    run.until(lambda world: (world.place.get("ResourceQuota", "none").get("status") or {}).get("hard"))
    world.place.create(world.suite("hasty", startTimeout="1s"))
    world.place.create(modes("hasty", Hasty="Shadow"))
    world.place.create(component("hasty", suite="hasty", target="hasty", key="Hasty"))
    run.until(lambda world: _asked(world, "list events"))


def _deleted(world: ApiWorld, run: Supervisor) -> None:
    """The finalizer goes."""
    world.place.delete("RcaComponent", "live")
    run.until(lambda world: world.place.find("RcaComponent", "live") is None)


ROADS: tuple[Callable[[ApiWorld, Supervisor], None], ...] = (
    _promoted,
    _name_taken,
    _superseded,
    _pruned,
    _workloads,
    _secret,
    _refused_pods,
    _deleted,
)


def _wants_job(world: ApiWorld, before: Collection[str]) -> str:
    """The Job that a new run has named and not got."""
    for run in world.place.list("EvalRun"):
        named = str(((run.get("status") or {}).get("jobRef") or {}).get("name") or "")
        if run["metadata"]["name"] not in before and named and world.place.find("Job", named) is None:
            return named
    return ""


def _running(job: Mapping[str, Any]) -> bool:
    return bool((job.get("status") or {}).get("active"))


def _phases(world: ApiWorld) -> set[object]:
    return {(run.get("status") or {}).get("phase") for run in world.place.list("EvalRun")}


def _asked(world: ApiWorld, what: str) -> bool:
    return any(sent.what == what and sent.status for sent in list(world.wire.sent))


@dataclass
class Roads:
    """All roads, gone as the chart's account."""

    namespace: str
    rights: set[Right]
    sent: list[Sent]
    log: str


def _go(cluster: Cluster, machine: Machine, namespace: str, folder: Path, *settings: str) -> Iterator[Roads]:
    with closing(Api(cluster.kubeconfig, cluster.kubectl_binary.parent)) as api:
        place = Place(api, namespace)
        bodies = rendered(place, f"r-{namespace}", ("rbac.secretInputs=true", *settings))
        token = account(place, bodies, folder)
        try:
            with api_world(api, namespace, machine, folder, token=token) as world:
                if "watch.clusterWide=true" in settings:
                    world.namespaces = ""
                    world.settings = {"RCA_ROLLOUT_LEASE_NAMESPACE": namespace}
                world.data()
                world.place.create(modes("modes", **{KEY: "Shadow"}), world.suite())
                supervisor = Supervisor(world)
                for road in ROADS:
                    road(world, supervisor)
                yield Roads(namespace, granted(bodies), list(world.wire.sent), world.log())
        finally:
            for body in bodies:
                if body["kind"].startswith("ClusterRole"):
                    api.request("DELETE", f"{_RBAC}/{body['kind'].lower()}s/{body['metadata']['name']}")


_RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.mark.parametrize("scope", ["namespaced", "clusterWide"])
def test_the_chart_grants_exactly_what_is_used(
    cluster: Cluster,
    machine: Machine,
    namespace: str,
    tmp_path: Path,
    scope: str,
    figure: Callable[[str], None],
) -> None:
    settings = ("watch.clusterWide=true",) if scope == "clusterWide" else ()
    for gone in _go(cluster, machine, namespace, tmp_path, *settings):
        asked = used(gone.sent)
        figure(f"{scope}: {len(gone.sent)} requests on {len(ROADS)} roads used {len(asked)} rights")
        too_few = sorted(refused(gone.sent, namespace))
        assert not too_few, f"the chart does not grant {', '.join(map(sentence, too_few))}\n{gone.log}"
        too_many = sorted(gone.rights - asked - set(EXCEPTIONS))
        assert not too_many, (
            f"the chart grants {', '.join(map(sentence, too_many))}, and no road of this ring uses that: "
            "write a road into ROADS of tests/cluster/test_rights.py, or take the rule out of the chart"
        )
        beyond = sorted(asked - gone.rights - _ANYBODY)
        assert not beyond, f"used and not granted by the chart: {', '.join(map(sentence, beyond))}"
        unneeded = sorted(set(EXCEPTIONS) & asked)
        assert not unneeded, f"no exception is needed for {', '.join(map(sentence, unneeded))}"


# What every account may, by the cluster's own roles.
_ANYBODY: frozenset[Right] = frozenset()
