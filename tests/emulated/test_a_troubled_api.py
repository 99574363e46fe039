"""Conflicts, refusals, storms, silence: the state is still reached, nothing is lost, nothing is done twice."""

import asyncio
import itertools
import random
from collections.abc import Callable

import pytest
from rca_testing.emulator.lab import KEY, Lab
from rca_testing.emulator.server import Call, Fault, drop, refuse, wait

pytestmark = pytest.mark.emulated


def _is(verb: str, plural: str, subresource: str | None = None) -> Callable[[Call], bool]:
    return lambda call: (call.verb, call.plural, call.subresource) == (verb, plural, subresource)


def _ours(call: Call) -> bool:
    """A request of the reconcilers, not of a watch, and not about the Lease."""
    return call.verb not in ("watch", "list") and call.plural != "leases"


def _some(share: float, of: Callable[[Call], bool]) -> Callable[[Call], bool]:
    """By chance, the same in every run of the test; a fixed step would always hit the same request of a retry."""
    chance = random.Random(7)
    return lambda call: of(call) and chance.random() < share


def _trouble(lab: Lab, *faults: Fault) -> None:
    lab.server.faults.extend(faults)


def _has_intent(call: Call) -> bool:
    return call.path == "rcacomponents/live/status" and "intent" in call.body["status"]


async def _arrives(lab: Lab, within: float = 900) -> None:
    lab.everything()
    token = lab.start()
    await lab.phase("Active", within=within)
    lab.server.faults.clear()
    await lab.quiet()
    assert lab.alive(token)
    assert lab.get("configmaps", "modes")["data"] == {KEY: "Active", "Unrelated.Mode": "Active"}
    assert len(lab.key_writes()) == 1
    runs = lab.list("evalruns")
    assert len(runs) == lab.status()["runsStarted"]
    assert len(lab.writes("create", "jobs")) == len(runs)


async def test_somebody_else_writes_a_status_in_between(lab: Lab) -> None:
    """A real conflict: the object moves on after it was read."""

    def meddle(call: Call) -> None:
        note = {"example.com/note": str(len(lab.server.calls))}
        lab.store.edit(
            call.plural, "shop", call.name or "", lambda body: body["metadata"].update(annotations=note)
        )

    _trouble(lab, Fault(_some(0.33, lambda call: call.subresource == "status"), meddle, times=1000))
    await _arrives(lab)
    conflicts = [call for call in lab.server.calls if call.status == 409]
    assert conflicts
    assert {call.subresource for call in conflicts} == {"status"}
    # A foreign annotation survives our writes.
    touched = {call.name for call in conflicts if call.plural == "evalruns"}
    assert touched
    runs = {body["metadata"]["name"]: body for body in lab.list("evalruns")}
    assert all(runs[name]["metadata"].get("annotations") for name in touched if name in runs)


async def test_the_key_changes_between_reading_and_writing(lab: Lab) -> None:
    """The failed test of the patch (422) is no error: somebody's Shadow of another spelling is looked at anew."""

    def meddle(call: Call) -> None:
        lab.store.edit("configmaps", "shop", "modes", lambda body: body["data"].update({KEY: "Off"}))

    meddling = Fault(_is("patch", "configmaps"), meddle)
    _trouble(lab, meddling)
    lab.everything()
    lab.start()
    await lab.reason("Stalled", "UnknownValue")
    assert [call.status for call in lab.server.calls if _is("patch", "configmaps")(call)] == [422]
    lab.store.edit("configmaps", "shop", "modes", lambda body: body["data"].update({KEY: "Shadow"}))
    await lab.phase("Active")
    assert len(lab.key_writes()) == 1


async def test_who_sets_the_key_back_at_once_is_not_fought(lab: Lab) -> None:
    """Before our next look, every time: another operator, or a webhook that changes what is written."""

    def back(call: Call) -> None:
        lab.store.edit("configmaps", "shop", "modes", lambda body: body["data"].update({KEY: "Shadow"}))

    _trouble(lab, Fault(_is("patch", "configmaps"), back, late=True, times=1000))
    lab.everything()
    lab.start()
    await lab.phase("Blocked")
    await lab.quiet(60)
    assert lab.condition("Promoted")["reason"] == "External"
    assert len(lab.key_writes()) == 1


async def test_a_demotion_that_is_undone_at_once_is_repeated_with_pauses(lab: Lab) -> None:
    lab.everything()
    lab.start()
    await lab.phase("Active")

    def back(call: Call) -> None:
        lab.store.edit("configmaps", "shop", "modes", lambda body: body["data"].update({KEY: "Active"}))

    _trouble(lab, Fault(_is("patch", "configmaps"), back, late=True, times=3))
    lab.store.edit("rcacomponents", "shop", "live", lambda body: body["spec"].update(mode="Shadow"))
    begun = asyncio.get_running_loop().time()
    await lab.until(lambda: lab.mode() == "Shadow" and "intent" not in lab.status(), within=600)
    assert len(lab.key_writes()) == 1 + 3 + 1
    assert asyncio.get_running_loop().time() - begun > 60


async def test_an_unrelated_change_of_the_target_does_not_stop_the_write(lab: Lab) -> None:
    def meddle(call: Call) -> None:
        lab.store.edit(
            "configmaps", "shop", "modes", lambda body: body["data"].update({"New.Mode": "Shadow"})
        )

    _trouble(lab, Fault(_is("patch", "configmaps"), meddle))
    lab.everything()
    lab.start()
    await lab.phase("Active")
    assert lab.get("configmaps", "modes")["data"] == {
        KEY: "Active",
        "Unrelated.Mode": "Active",
        "New.Mode": "Shadow",
    }


async def test_the_target_is_replaced_between_reading_and_writing(lab: Lab) -> None:
    """Another object of that name is not the one that was decided on."""

    def replace(call: Call) -> None:
        lab.store.delete("configmaps", "shop", "modes")
        lab.modes()

    _trouble(lab, Fault(_is("patch", "configmaps"), replace))
    await _arrives(lab)


async def test_too_many_requests_are_answered_with_patience(lab: Lab) -> None:
    """429 with Retry-After: obeyed by reconcilers and watches, no handler lost."""
    asked: dict[tuple[str, str], float] = {}
    loop = asyncio.get_running_loop()
    early: list[str] = []

    def storm(call: Call) -> None:
        place = (call.verb, call.path)
        if place in asked and loop.time() < asked[place] + 6.5 and call.verb == "replace":
            early.append(call.path)
        asked[place] = loop.time()
        refuse(429, "TooManyRequests", "too many requests, please try again later", retry_after=7)(call)

    _trouble(
        lab,
        Fault(_some(0.25, lambda call: call.verb != "watch" and call.plural != "leases"), storm, times=40),
    )
    await _arrives(lab)
    assert early == []


async def test_a_server_that_fails_for_half_a_minute_is_waited_for(lab: Lab) -> None:
    loop = asyncio.get_running_loop()
    lab.everything()
    token = lab.start()
    await lab.until(lambda: lab.list("jobs"))
    end = loop.time() + 25
    _trouble(
        lab, Fault(lambda _: loop.time() < end, refuse(500, "InternalError", "etcd is away"), times=100_000)
    )
    lab.server.end_watches()
    await lab.phase("Active", within=300)
    assert lab.alive(token)
    assert len(lab.key_writes()) == 1


async def test_retries_back_off(lab: Lab) -> None:
    moments: list[float] = []
    loop = asyncio.get_running_loop()

    def fail(call: Call) -> None:
        moments.append(loop.time())
        refuse(503, "ServiceUnavailable", "no")(call)

    await _arrives(lab)
    _trouble(lab, Fault(lambda call: call.path == "evalsuites/suite/status", fail, times=8))
    lab.store.edit("evalsuites", "shop", "suite", lambda body: body["spec"].update(maxConcurrentRuns=2))
    await lab.until(lambda: lab.status("suite", "evalsuites")["observedGeneration"] == 2, within=300)
    gaps = [later - sooner for sooner, later in itertools.pairwise(moments)]
    assert gaps == pytest.approx([gaps[0] * 2**n for n in range(7)], rel=0.2)


async def test_connections_that_break_before_the_request_arrives(lab: Lab) -> None:
    _trouble(lab, Fault(_some(0.2, _ours), drop, times=1000))
    await _arrives(lab)


async def test_connections_that_break_before_the_answer_arrives(lab: Lab) -> None:
    """The write was carried out, and nobody knows: tried again, it meets itself."""
    _trouble(lab, Fault(_some(0.33, lambda call: call.writes), drop, late=True, times=1000))
    await _arrives(lab)


async def test_answers_that_never_come_time_out(lab: Lab) -> None:
    _trouble(lab, Fault(_some(0.11, _ours), lab.server.hang, times=6))
    await _arrives(lab)


async def test_slow_answers_are_waited_for(lab: Lab) -> None:
    _trouble(lab, Fault(_some(0.17, _ours), wait(9), times=1000))
    await _arrives(lab, within=3600)


async def test_a_write_that_could_come_too_late_is_not_sent(lab: Lab) -> None:
    """The intent has a deadline; an operator that comes back shortly before it must begin anew."""
    dies = Fault(_has_intent, lab.server.kill, late=True)
    _trouble(lab, dies)
    lab.everything()
    first = lab.start()
    await lab.until(lambda: dies.hits)
    await lab.kill(first)
    old = lab.status()["intent"]
    await asyncio.sleep(25)
    lab.start()
    await lab.phase("Active", within=300)
    promoting = [call.body["status"]["intent"] for call in lab.writes() if _has_intent(call)]
    assert promoting[-1]["issuedAt"] >= old["notAfter"]
    assert lab.status()["promotion"]["at"] >= promoting[-1]["issuedAt"]
    assert len(lab.key_writes()) == 1


async def test_watches_that_end_go_on_where_they_were(lab: Lab) -> None:
    _trouble(lab, Fault(lambda call: call.writes, lambda _: lab.server.end_watches(), times=1000))
    await _arrives(lab)


async def test_silent_watches_are_noticed(lab: Lab) -> None:
    """The connections stand and say nothing; the operator reconnects and learns what it missed."""
    lab.server.silent.update({"rcacomponents", "evalruns", "jobs", "pods"})
    lab.everything()
    lab.start()
    await lab.quiet(5)
    lab.server.silent.clear()
    await lab.phase("Active", within=600)
    assert len(lab.key_writes()) == 1


async def test_a_history_that_was_compacted_is_read_anew(lab: Lab) -> None:
    lab.on_job = lambda lab, job: None
    lab.everything()
    lab.start()
    [job] = await lab.until(lambda: lab.list("jobs"))
    await lab.quiet()
    lab.server.silent.update({"jobs", "pods"})
    lab.kubelet.succeed(job)
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    lab.server.compact()
    lab.server.silent.clear()
    lab.server.end_watches()
    await lab.phase("Active")


async def _during_a_gap(lab: Lab, change: Callable[[], object]) -> None:
    """`change` happens while no watch is listening, and its history is gone before one listens again."""
    lab.server.silent.update({"rcacomponents", "evalruns", "evalsuites", "jobs", "pods", "configmaps"})
    change()
    await asyncio.sleep(0.1)
    lab.server.compact()
    lab.server.silent.clear()
    lab.server.end_watches()


async def test_a_job_that_was_deleted_during_a_gap_is_missed(lab: Lab) -> None:
    lab.on_job = lambda lab, job: lab.kubelet.start(job)
    lab.everything()
    lab.start()
    [job] = await lab.until(lambda: lab.list("jobs"))
    await lab.quiet()
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    await _during_a_gap(lab, lambda: lab.store.delete("jobs", "shop", job["metadata"]["name"]))
    await lab.phase("Active", within=1200)
    lost = lab.list("evalruns")[0]
    assert (lost["status"]["phase"], lost["status"]["reason"]) == ("Error", "JobLost")


async def test_a_run_that_was_deleted_during_a_gap_does_not_keep_its_turn(lab: Lab) -> None:
    lab.on_job = lambda lab, job: None
    lab.everything()
    lab.start()
    await lab.until(lambda: lab.list("jobs"))
    await lab.quiet()
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    [run] = lab.list("evalruns")
    await _during_a_gap(lab, lambda: lab.store.delete("evalruns", "shop", run["metadata"]["name"]))
    await lab.phase("Active", within=1200)


async def test_a_component_that_was_deleted_during_a_gap_holds_no_key(lab: Lab) -> None:
    lab.everything()
    await lab.quiet(2)
    lab.component("younger")
    lab.start()
    await lab.phase("Active", "live")
    await lab.reason("Stalled", "TargetClaimed", "younger")
    await lab.quiet()
    await _during_a_gap(lab, lambda: lab.store.delete("rcacomponents", "shop", "live"))
    await lab.reason("Promoted", "Adopted", "younger", within=1200)
