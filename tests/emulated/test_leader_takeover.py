"""Two operators on one scope: one leads, one stands by; whatever becomes of the leader, the other goes on.

Seconds are the loop's own, and so exact whatever the machine does. What a process is, and what a stopped one may do when
it goes on, is the ring *cluster*'s business.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families
from rca_testing.emulator.lab import KEY, Lab
from rca_testing.emulator.server import Call, Fault, refuse, wait

from rca_rollout.core.lease import Pace
from rca_rollout.runtime.leader import LeadershipLostError, LeaseRefusedError

pytestmark = pytest.mark.emulated

A = {"POD_NAME": "rca-a", "POD_UID": "1111"}
B = {"POD_NAME": "rca-b", "POD_UID": "2222"}
TAKEOVER, HANDOVER = 20.0, 3.0  # seconds; what docs/operations.md promises
# Observation of an hour, so that there is something to do whenever somebody comes to lead.
SLOW = {"period": "1h", "interval": "5s", "minPassingRuns": 2}


@pytest_asyncio.fixture
async def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    async with Lab(tmp_path, monkeypatch, pace=Pace()) as lab:
        yield lab


def lease(lab: Lab, name: str = "rca-rollout") -> dict[str, Any]:
    spec: dict[str, Any] = lab.get("leases", name)["spec"]
    return spec


def holder(lab: Lab) -> str:
    if ("leases", "shop", "rca-rollout") not in lab.store.objects:
        return ""
    return str(lease(lab).get("holderIdentity", ""))


async def held(lab: Lab, by: str, within: float) -> float:
    """How long it took until a Pod of this name held the Lease."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while not holder(lab).startswith(f"{by}_"):
        assert loop.time() - begun < within, f"{holder(lab)!r} holds the Lease\n{lab.story()}"
        await asyncio.sleep(0.1)
    return loop.time() - begun


def writes_of(lab: Lab, token: str) -> list[Call]:
    return [call for call in lab.server.writes() if call.token == token]


async def both(lab: Lab) -> tuple[str, str]:
    """The first leads, the second stands by."""
    first = lab.start(**A)
    await held(lab, "rca-a", 5)
    second = lab.start(**B)
    await asyncio.sleep(5)
    return first, second


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


async def _read(port: str, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


async def test_one_leads_and_the_other_writes_nothing(pair: Lab) -> None:
    first, second = await both(pair)
    pair.everything()
    await pair.phase("Active")
    await pair.quiet(10)
    assert writes_of(pair, first)
    assert writes_of(pair, second) == []
    assert pair.alive(second)
    # It has listed and watched all the same.
    assert {"rcacomponents", "evalruns", "jobs"} <= {
        call.plural for call in pair.server.calls if call.token == second and call.verb == "watch"
    }


async def test_when_the_leader_is_killed_the_other_takes_over_and_ends_what_was_begun(pair: Lab) -> None:
    first, second = await both(pair)
    pair.on_job = lambda lab, job: None
    pair.everything()
    [job] = await pair.until(lambda: pair.list("jobs"))
    await pair.kill(first)
    pair.kubelet.succeed(job)
    pair.on_job = lambda lab, job: lab.kubelet.succeed(job)
    assert await held(pair, "rca-b", TAKEOVER) <= TAKEOVER
    assert lease(pair)["leaseTransitions"] == 1
    await pair.phase("Active")
    assert len(pair.key_writes()) == 1
    assert writes_of(pair, second)


async def test_when_the_leader_is_stopped_it_gives_the_lease_back_and_the_other_takes_it(pair: Lab) -> None:
    first, _ = await both(pair)
    await pair.stop(first)
    assert await held(pair, "rca-b", HANDOVER) <= HANDOVER


async def test_a_stop_finishes_the_write_under_way_before_the_lease_is_given_back(pair: Lab) -> None:
    first, second = await both(pair)
    reached = Fault(lambda call: (call.verb, call.plural) == ("create", "jobs"), wait(6))
    pair.server.faults.append(reached)
    pair.everything()
    await pair.until(lambda: reached.hits)
    await pair.stop(first)
    [made] = [call for call in pair.writes("create", "jobs") if call.token == first]
    given_back = next(
        call
        for call in pair.server.calls
        if call.plural == "leases"
        and call.token == first
        and "holderIdentity" not in (call.body or {}).get("spec", {1})
        and call.verb == "replace"
        and "dryRun" not in call.query
    )
    assert pair.server.calls.index(given_back) > pair.server.calls.index(made)
    await pair.phase("Active")
    assert writes_of(pair, second)


async def test_a_standby_that_is_stopped_ends_at_once_and_leaves_the_lease_alone(pair: Lab) -> None:
    _, second = await both(pair)
    begun = asyncio.get_running_loop().time()
    await pair.stop(second)
    assert asyncio.get_running_loop().time() - begun < HANDOVER
    assert holder(pair).startswith("rca-a_")


async def test_a_container_that_starts_anew_leads_again_without_a_pause(pair: Lab) -> None:
    """Its predecessor is dead for sure; another Pod could not know that."""
    first, _ = await both(pair)
    before = holder(pair)
    await pair.kill(first)
    pair.start(**A)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while holder(pair) == before:
        assert loop.time() - begun < HANDOVER
        await asyncio.sleep(0.1)
    assert holder(pair).startswith("rca-a_")


async def test_a_leader_that_cannot_renew_stops_writing_before_the_other_begins(pair: Lab) -> None:
    """Its way to the Lease is cut, and none other: it could write for ever."""
    first, second = await both(pair)
    pair.everything(observation=SLOW)
    await pair.phase("Observing")
    loop = asyncio.get_running_loop()
    cut = loop.time()
    pair.server.faults.append(
        Fault(
            lambda call: call.token == first and call.plural == "leases",
            refuse(500, "InternalError", "etcd is away"),
            times=100_000,
        )
    )
    error = await pair.ended(first, within=60)
    assert isinstance(error, LeadershipLostError)
    assert "etcd is away" in str(error)
    assert 8 <= loop.time() - cut <= 11
    told = len(writes_of(pair, first))
    assert not writes_of(pair, second)
    await held(pair, "rca-b", TAKEOVER)
    assert loop.time() - cut <= TAKEOVER
    await pair.until(lambda: len(writes_of(pair, second)) > 3)
    assert len(writes_of(pair, first)) == told


async def test_a_write_that_hangs_is_over_before_the_other_begins(pair: Lab) -> None:
    """The leader is cut off in the middle of a write that gets no answer."""
    first, second = await both(pair)
    hanging = Fault(lambda call: (call.verb, call.plural) == ("create", "jobs"), pair.server.hang)
    pair.server.faults.append(hanging)
    pair.everything()
    await pair.until(lambda: hanging.hits)
    pair.server.faults.append(Fault(lambda call: call.token == first, pair.server.hang, times=100_000))
    assert isinstance(await pair.ended(first, within=60), LeadershipLostError)
    assert not writes_of(pair, second)
    await pair.phase("Active")
    assert len(pair.key_writes()) == 1


async def test_a_lease_that_is_deleted_by_hand_is_made_anew_by_who_leads(pair: Lab) -> None:
    first, second = await both(pair)
    before = holder(pair)
    for _ in range(3):
        pair.store.delete("leases", "shop", "rca-rollout")
        await held(pair, "rca-a", 5)
        await asyncio.sleep(5)
    assert holder(pair) == before
    assert pair.alive(first)
    pair.everything()
    await pair.phase("Active")
    assert writes_of(pair, second) == []


async def test_a_lease_that_is_deleted_when_its_leader_is_dead_is_taken_after_the_same_time(
    pair: Lab,
) -> None:
    first, _ = await both(pair)
    await pair.kill(first)
    pair.store.delete("leases", "shop", "rca-rollout")
    assert 14 <= await held(pair, "rca-b", TAKEOVER) <= TAKEOVER


async def test_who_finds_another_name_in_its_lease_ends(pair: Lab) -> None:
    first, _ = await both(pair)
    pair.store.edit(
        "leases", "shop", "rca-rollout", lambda body: body["spec"].update(holderIdentity="somebody")
    )
    error = await pair.ended(first, within=10)
    assert isinstance(error, LeadershipLostError)
    assert "somebody" in str(error)


async def test_labels_on_the_lease_are_kept_and_disturb_nobody(pair: Lab) -> None:
    first, _ = await both(pair)
    for number in range(10):
        labels = {"example.com/n": str(number)}
        pair.store.edit(
            "leases", "shop", "rca-rollout", lambda body, to=labels: body["metadata"].update(labels=to)
        )
        await asyncio.sleep(1.3)
    assert pair.alive(first)
    assert holder(pair).startswith("rca-a_")
    assert pair.get("leases", "rca-rollout")["metadata"]["labels"] == {"example.com/n": "9"}


async def test_a_lease_in_foreign_hands_is_waited_for_and_the_log_says_whose(
    pair: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    """A person who writes a duration into it makes a pause of that long."""
    caplog.set_level(logging.INFO, "rca_rollout.leader")
    spec = {
        "holderIdentity": "maintenance",
        "leaseDurationSeconds": 300,
        "renewTime": "1999-01-01T00:00:00.000000Z",
    }
    pair.create("leases", "rca-rollout", spec=spec)
    pair.everything()
    token = pair.start(**A)
    await asyncio.sleep(290)
    assert pair.mode() == "Shadow"
    assert not pair.server.writes()
    assert pair.alive(token)
    assert sum("maintenance leads" in record.getMessage() for record in caplog.records) == 1
    await pair.phase("Active", within=200)


@pytest.mark.parametrize(
    ("verb", "there"), [("get", False), ("get", True), ("create", False), ("replace", True)]
)
async def test_a_lease_that_may_not_be_used_ends_the_process_with_a_sentence(
    pair: Lab, verb: str, there: bool
) -> None:
    """Also when it would only be noticed on the day that the leader dies."""
    if there:
        pair.create("leases", "rca-rollout", spec={"holderIdentity": "other", "leaseDurationSeconds": 15})
    forbidden = refuse(403, "Forbidden", "leases.coordination.k8s.io is forbidden: User cannot do that")
    pair.server.faults.append(
        Fault(lambda call: (call.verb, call.plural) == (verb, "leases"), forbidden, times=1000)
    )
    error = await pair.ended(pair.start(**A), within=30)
    assert isinstance(error, LeaseRefusedError)
    for word in ("rca-rollout in namespace shop", "is forbidden", "grant", "rbac.yaml"):
        assert word in str(error)


@pytest.mark.parametrize("there", [False, True])
async def test_a_standby_outlives_an_api_server_that_is_away_for_a_minute(pair: Lab, there: bool) -> None:
    """The leader ends, for it can know nothing; the standby takes the Lease when the server is back."""
    first, second = await both(pair)
    loop = asyncio.get_running_loop()
    end = loop.time() + 60
    pair.server.faults.append(
        Fault(
            lambda call: loop.time() < end and (there or call.plural == "leases"),
            refuse(503, "ServiceUnavailable", "no"),
            times=100_000,
        )
    )
    assert isinstance(await pair.ended(first, within=60), LeadershipLostError)
    await asyncio.sleep(end - loop.time())
    assert pair.alive(second)
    assert await held(pair, "rca-b", TAKEOVER) <= TAKEOVER


async def test_both_answer_and_only_the_leader_tells_of_the_components(pair: Lab) -> None:
    ports = {"rca-a": _free_port(), "rca-b": _free_port()}
    first = pair.start(**A, METRICS_PORT=ports["rca-a"])
    await held(pair, "rca-a", 5)
    pair.start(**B, METRICS_PORT=ports["rca-b"])
    pair.everything()
    await pair.phase("Active")

    async def figures(pod: str) -> tuple[float, set[str]]:
        assert await _read(ports[pod], "/readyz") == (200, "ok\n")
        status, text = await _read(ports[pod], "/metrics")
        assert status == 200
        families = list(text_string_to_metric_families(text))
        [leader] = [s.value for f in families for s in f.samples if s.name == "rca_leader"]
        return leader, {f.name for f in families for s in f.samples if s.labels.get("name") == "live"}

    assert (await figures("rca-a"))[0] == 1
    assert "rca_component_phase" in (await figures("rca-a"))[1]
    assert await figures("rca-b") == (0, set())
    await pair.kill(first)
    await held(pair, "rca-b", TAKEOVER)
    assert (await figures("rca-b"))[0] == 1
    assert "rca_component_phase" in (await figures("rca-b"))[1]


async def test_a_process_that_does_not_watch_yet_is_not_ready(pair: Lab) -> None:
    port = _free_port()
    learning = refuse(429, "TooManyRequests", "storage is (re)initializing")
    pair.server.faults.append(
        Fault(lambda call: call.plural == "evalruns" and call.verb == "list", learning, times=10)
    )
    pair.start(**A, METRICS_PORT=port)
    await asyncio.sleep(3)
    assert (await _read(port, "/readyz"))[0] == 503
    await held(pair, "rca-a", 30)
    await asyncio.sleep(3)
    assert (await _read(port, "/readyz"))[0] == 200


async def test_killed_leader_after_leader_the_end_is_the_same(pair: Lab) -> None:
    """Each dies at its first write to an object of ours, in a Pod of its own; the next one waits for the Lease."""
    dies = Fault(lambda call: call.writes and call.plural != "events", pair.server.kill, late=True, times=8)
    pair.server.faults.append(dies)
    pair.everything(observation={"period": "0s", "interval": "1s", "minPassingRuns": 2})
    for number in range(8):
        token = pair.start(POD_NAME=f"rca-{number}", POD_UID=f"{number:04x}")
        await pair.until(lambda n=number: dies.hits > n, within=60)
        await pair.kill(token)
    pair.start(**A)
    await pair.phase("Active", within=600)
    assert pair.get("configmaps", "modes")["data"] == {KEY: "Active", "Unrelated.Mode": "Active"}
    assert len(pair.key_writes()) == 1
    assert len(pair.writes("create", "evalruns")) == pair.status()["runsStarted"]
