"""From custom resources to one changed key, and what is said and written on the way."""

import asyncio
import base64
from collections import Counter

import pytest
from rca_testing.emulator.lab import KEY, Lab
from rca_testing.emulator.server import Call, Fault, wait
from rca_testing.emulator.store import Body

from rca_eval.contract import parse_scorecard, sha256, unpack

pytestmark = pytest.mark.emulated

# All that the operator may ever write, and where.
ALLOWED = {
    ("replace", "rcacomponents", "status"),
    ("replace", "evalsuites", "status"),
    ("replace", "evalruns", "status"),
    ("create", "evalruns", None),
    ("delete", "evalruns", None),
    ("create", "jobs", None),
    ("patch", "jobs", None),
    ("delete", "jobs", None),
    ("create", "configmaps", None),
    ("patch", "configmaps", None),
    ("create", "events", None),
}


async def test_a_good_component_goes_from_shadow_to_active_by_one_changed_key(lab: Lab) -> None:
    lab.everything()
    lab.start()
    status = await lab.phase("Active")
    assert lab.get("configmaps", "modes")["data"] == {KEY: "Active", "Unrelated.Mode": "Active"}
    assert len(lab.key_writes()) == 1
    assert lab.key_writes()[0].query == {"fieldManager": "rca-rollout", "timeout": "10.000s"}
    assert (status["mode"], status["evaluation"]["accuracy"], status["evaluation"]["delta"]) == (
        "Active",
        "1.000",
        "+0.000",
    )
    assert status["evidence"]["passing"] >= 2
    assert status["promotion"]["cause"] == "Promoted"
    assert "intent" not in status
    assert lab.condition("Ready")["status"] == lab.condition("Promoted")["status"] == "True"
    assert lab.condition("Ready", "suite", "evalsuites")["status"] == "True"


async def test_every_run_leaves_a_verified_scorecard_that_goes_with_it(lab: Lab) -> None:
    lab.everything()
    lab.start()
    await lab.phase("Active")
    runs = lab.list("evalruns")
    assert [run["status"]["phase"] for run in runs] == ["Passed"] * len(runs)
    for run in runs:
        stored = lab.get("configmaps", run["status"]["scorecard"]["configMapRef"])
        document = unpack(base64.b64decode(stored["binaryData"]["scorecard.json.gz"]))
        assert sha256(document) == run["status"]["scorecard"]["sha256"]
        assert parse_scorecard(document).deterministic.revision == "r1"
        assert stored["immutable"]
        assert stored["metadata"]["ownerReferences"][0]["uid"] == run["metadata"]["uid"]
    await lab.quiet()
    assert all(job["spec"]["ttlSecondsAfterFinished"] == 600 for job in lab.list("jobs"))


async def test_a_failing_scorecard_blocks_with_the_sentence_and_the_key_stays(lab: Lab) -> None:
    lab.on_job = lambda lab, job: lab.kubelet.succeed(
        job, lab.kubelet.measure(job, lost={"With": ("GT-03", "GT-07")})
    )
    lab.everything()
    lab.start()
    status = await lab.phase("Blocked")
    await lab.quiet()
    sentence = lab.condition("Promoted")["message"]
    assert sentence.startswith("AC@1 0.778 < 1.000 - 0.02 (GT-03, GT-07 lost), LivePath")
    assert lab.condition("Promoted")["reason"] == "GateFailed"
    assert lab.condition("Ready")["status"] == "True"
    assert status["evaluation"]["delta"] == "-0.222"
    assert lab.get("configmaps", "modes")["data"] == {KEY: "Shadow", "Unrelated.Mode": "Active"}
    assert lab.key_writes() == []
    assert len(lab.list("evalruns")) == 1


async def test_a_regression_during_observation_blocks(lab: Lab) -> None:
    def later_worse(lab: Lab, job: Body) -> None:
        worse = len(lab.list("evalruns")) > 1
        lab.kubelet.succeed(job, lab.kubelet.measure(job, lost={"With": ("GT-05",)} if worse else None))

    lab.on_job = later_worse
    lab.everything()
    lab.start()
    await lab.phase("Blocked")
    await lab.quiet()
    assert lab.mode() == "Shadow"
    assert "GT-05 lost" in lab.condition("Promoted")["message"]


async def test_a_regression_after_promotion_puts_the_key_back_and_it_stays_there(lab: Lab) -> None:
    worse = False
    lab.on_job = lambda lab, job: lab.kubelet.succeed(
        job, lab.kubelet.measure(job, lost={"With": ("GT-01",)} if worse else None)
    )
    lab.everything(guard={"interval": "10m"})
    lab.start()
    await lab.phase("Active")
    worse = True
    status = await lab.phase("Blocked", within=1200)
    await lab.quiet(900)
    assert lab.mode() == "Shadow"
    assert status["demotion"]["cause"] == "GuardFailed"
    assert "GT-01 lost" in lab.condition("Promoted")["message"]
    assert [call.body[-1]["value"] for call in lab.key_writes()] == ["Active", "Shadow"]


async def test_nothing_of_ours_is_put_on_users_objects(lab: Lab) -> None:
    lab.everything()
    mine = [
        ("configmaps", "modes"),
        ("configmaps", "incidents"),
        ("evalsuites", "suite"),
        ("rcacomponents", "live"),
    ]
    before = [lab.get(*place) for place in mine]
    lab.start()
    await lab.phase("Active")
    await lab.quiet()
    for old, place in zip(before, mine, strict=True):
        new = lab.get(*place)
        for body in (old, new):
            body["metadata"].pop("resourceVersion")
            body.pop("status", None)
        if place == ("configmaps", "modes"):
            assert old["data"].pop(KEY) != new["data"].pop(KEY)
        assert new == old


async def test_only_the_allowed_writes_are_ever_sent(lab: Lab) -> None:
    lab.everything(guard={"interval": "30s"})
    lab.start()
    await lab.phase("Active")
    lab.store.edit("rcacomponents", "shop", "live", lambda body: body["spec"].update(mode="Shadow"))
    await lab.until(lambda: lab.mode() == "Shadow")
    lab.store.edit(
        "rcacomponents", "shop", "live", lambda body: body["spec"].update(mode="Active", revision="r2")
    )
    await lab.phase("Active")
    sent = {(call.verb, call.plural, call.subresource) for call in lab.server.writes()}
    assert sent <= ALLOWED, sent - ALLOWED
    assert all(call.name == "modes" for call in lab.writes("patch", "configmaps"))
    assert all(
        call.body["metadata"]["name"].endswith("-scorecard") for call in lab.writes("create", "configmaps")
    )
    for call in lab.writes("patch", "jobs"):
        assert [operation["path"] for operation in call.body] == [
            "/metadata/uid",
            "/spec/ttlSecondsAfterFinished",
        ]
    for plural in ("rcacomponents", "evalruns", "jobs", "configmaps", "pods"):
        assert not any(body["metadata"].get("finalizers") for body in lab.list(plural))
    assert not any(call.status in (400, 403, 405, 422) for call in lab.server.calls)


async def test_in_steady_state_nothing_is_written(lab: Lab) -> None:
    lab.everything(guard={"interval": "720h"})
    lab.start()
    await lab.phase("Active")
    await lab.quiet()
    before = len(lab.server.writes())
    with pytest.raises(AssertionError, match="not reached"):
        await lab.until(lambda: len(lab.server.writes()) > before, within=900)


async def test_a_blocked_component_is_left_in_peace(lab: Lab) -> None:
    lab.on_job = lambda lab, job: lab.kubelet.succeed(
        job, lab.kubelet.measure(job, lost={"With": ("GT-03",)})
    )
    lab.everything()
    lab.start()
    await lab.phase("Blocked")
    await lab.quiet()
    before = len(lab.server.writes())
    with pytest.raises(AssertionError, match="not reached"):
        await lab.until(lambda: len(lab.server.writes()) > before, within=900)


async def test_a_restart_in_steady_state_writes_nothing_but_events_that_exist_already(lab: Lab) -> None:
    lab.everything(guard={"interval": "720h"})
    first = lab.start()
    await lab.phase("Active")
    await lab.quiet()
    await lab.stop(first)
    before = len(lab.writes())
    lab.start()
    await lab.quiet()
    assert [call.path for call in lab.writes()[before:]] == []


async def test_there_is_one_event_per_transition(lab: Lab) -> None:
    lab.everything()
    lab.start()
    await lab.phase("Active")
    await lab.quiet()
    reasons = [event["reason"] for event in lab.events("RcaComponent")]
    assert reasons == ["RunInProgress", "ObservationStarted", "Promoting", "Promoted"]
    ended = Counter(event["involvedObject"]["name"] for event in lab.events("EvalRun"))
    assert ended == {run["metadata"]["name"]: 1 for run in lab.list("evalruns")}
    names = [event["metadata"]["name"] for event in lab.list("events")]
    assert len(set(names)) == len(names)
    assert all(call.status == 201 for call in lab.server.calls if call.plural == "events")


async def test_the_old_path_governs_at_once_when_shadow_is_asked_for_even_without_a_suite(lab: Lab) -> None:
    lab.everything()
    lab.start()
    await lab.phase("Active")
    lab.store.delete("evalsuites", "shop", "suite")
    await lab.reason("Ready", "SuiteNotFound")
    assert lab.mode() == "Active"
    lab.store.edit("rcacomponents", "shop", "live", lambda body: body["spec"].update(mode="Shadow"))
    await lab.until(lambda: lab.mode() == "Shadow", within=5)
    await lab.until(lambda: (lab.status().get("demotion") or {}).get("cause") == "ShadowRequested")


async def test_a_new_revision_starts_in_shadow_and_is_promoted_on_its_own_evidence(lab: Lab) -> None:
    lab.everything()
    lab.start()
    await lab.phase("Active")
    lab.store.edit("rcacomponents", "shop", "live", lambda body: body["spec"].update(revision="r2"))
    await lab.until(lambda: lab.mode() == "Shadow", within=5)
    await lab.until(lambda: (lab.status().get("promotion") or {}).get("revision") == "r2")
    assert [call.body[-1]["value"] for call in lab.key_writes()] == ["Active", "Shadow", "Active"]


async def test_of_two_components_on_one_key_the_oldest_has_it(lab: Lab) -> None:
    lab.everything()
    await lab.quiet(2)
    lab.component("younger")
    lab.start()
    condition = await lab.reason("Stalled", "TargetClaimed", "younger")
    assert "live" in condition["message"]
    await lab.phase("Active", "live")
    await lab.quiet()
    assert len(lab.key_writes()) == 1
    assert lab.status("younger").get("runsStarted", 0) == 0
    lab.store.delete("rcacomponents", "shop", "live")
    await lab.reason("Promoted", "Adopted", "younger")


async def test_a_key_of_another_config_map_is_claimed_within_a_suite_whose_modes_go_by_their_keys(
    lab: Lab,
) -> None:
    lab.everything()
    await lab.quiet(2)
    lab.modes(name="other-modes")
    lab.component("younger", target={"configMapRef": {"name": "other-modes"}, "key": KEY})
    lab.start()
    condition = await lab.reason("Stalled", "TargetClaimed", "younger")
    assert "live" in condition["message"]
    assert "suite" in condition["message"]


async def test_two_components_of_a_suite_are_promoted_one_after_the_other(lab: Lab) -> None:
    lab.modes({KEY: "Shadow", "RcaMemory.Mode": "Shadow"})
    lab.data()
    lab.suite()
    lab.component("live")
    lab.component("memory", key="RcaMemory.Mode")
    lab.start()
    await lab.phase("Active", "live", within=600)
    await lab.phase("Active", "memory", within=600)
    await lab.quiet()
    assert lab.get("configmaps", "modes")["data"] == {KEY: "Active", "RcaMemory.Mode": "Active"}
    assert len(lab.key_writes()) == 2
    _second_was_measured_beside_the_first(lab)


async def test_the_second_is_not_promoted_beside_what_the_watch_does_not_tell(lab: Lab) -> None:
    """From the first intent on, nothing is heard of components: what is decided on for a write is read."""

    def silence(_: Call) -> None:
        lab.server.silent.add("rcacomponents")

    _two(lab)
    lab.server.faults.append(Fault(_intends, silence))
    lab.start()
    await lab.until(lab.key_writes, within=600)
    await asyncio.sleep(10)
    lab.server.silent.clear()
    lab.server.end_watches()
    for name in ("live", "memory"):
        await lab.phase("Active", name, within=900)
    await lab.quiet()
    _second_was_measured_beside_the_first(lab)


async def test_the_second_is_not_promoted_beside_a_key_that_was_written_and_not_recorded(lab: Lab) -> None:
    """The process dies between the key and the status, and the other component is looked at first after it."""
    _two(lab)
    lab.server.faults.append(
        Fault(lambda call: (call.verb, call.plural) == ("patch", "configmaps"), lab.server.kill, late=True)
    )
    first = lab.start()
    await lab.until(lab.key_writes, within=600)
    await lab.kill(first)
    written = next(name for name in ("live", "memory") if "intent" in lab.status(name))
    await asyncio.sleep(60)
    lab.server.faults[:] = [
        Fault(lambda call: (call.verb, call.path) == ("get", f"rcacomponents/{written}"), wait(9), times=3)
    ]
    lab.start()
    for name in ("live", "memory"):
        await lab.phase("Active", name, within=900)
    await lab.quiet()
    _second_was_measured_beside_the_first(lab)


def _two(lab: Lab) -> None:
    lab.modes({KEY: "Shadow", "RcaMemory.Mode": "Shadow"})
    lab.data()
    lab.suite(maxConcurrentRuns=2)
    lab.component("live")
    lab.component("memory", key="RcaMemory.Mode")


def _intends(call: Call) -> bool:
    return call.plural == "rcacomponents" and call.verb == "replace" and "intent" in call.body["status"]


def _second_was_measured_beside_the_first(lab: Lab) -> None:
    """The second one's last evidence was measured beside the first one as it governs now."""
    second = max(("live", "memory"), key=lambda name: lab.status(name)["promotion"]["at"])
    key = {"live": "RcaMemory.Mode", "memory": KEY}[second]
    run = lab.get("evalruns", lab.status(second)["promotion"]["run"])
    modes = {variant["name"]: variant["modes"] for variant in run["status"]["inputs"]["variants"]}
    assert modes["With"][key] == modes["Without"][key] == "Active"
