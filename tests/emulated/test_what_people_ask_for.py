"""Verbs, approval, drift and deletion against the API: what is written where, and what a crash or a GitOps tool undoes."""

import asyncio
from typing import Any

import pytest
from rca_testing.emulator.lab import KEY, NAMESPACE, Lab
from rca_testing.emulator.server import Call, Fault
from rca_testing.emulator.store import Body, Refusal

pytestmark = pytest.mark.emulated

LONG = {"period": "1h", "interval": "10m", "minPassingRuns": 3}
FINALIZER = "rca.bluerobin.io/revert"


def annotate(lab: Lab, name: str = "live", manager: str = "kubectl-annotate", **values: str | None) -> None:
    """As `kubectl annotate`, with the managed fields that the server keeps."""

    def change(body: Body) -> None:
        metadata = body["metadata"]
        held = metadata.setdefault("annotations", {})
        for key, value in values.items():
            held[f"rca.bluerobin.io/{key}"] = value
            if value is None:
                del held[f"rca.bluerobin.io/{key}"]
        fields = {"f:metadata": {"f:annotations": {f"f:rca.bluerobin.io/{key}": {} for key in values}}}
        entry = {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "rca.bluerobin.io/v1alpha1",
            "fieldsType": "FieldsV1",
            "time": "2026-11-30T10:00:00Z",
            "fieldsV1": fields,
        }
        metadata["managedFields"] = [*metadata.get("managedFields", []), entry]

    lab.store.edit("rcacomponents", NAMESPACE, name, change)


def ask(lab: Lab, verb: str, unique: str = "1", **beside: str) -> None:
    annotate(lab, **{verb: f"{lab.status()['epoch']}/{unique}"}, **beside)


async def answered(lab: Lab, verb: str) -> Body:
    found: Body = await lab.until(lambda: (lab.status().get("verbs") or {}).get(verb))
    return found


def spec(lab: Lab, **changes: Any) -> None:
    lab.store.edit("rcacomponents", NAMESPACE, "live", lambda body: body["spec"].update(changes))


def set_key(lab: Lab, value: str) -> None:
    lab.store.edit("configmaps", NAMESPACE, "modes", lambda body: body["data"].update({KEY: value}))


def silent(_: Lab, __: Body) -> None:
    """A Job that runs and runs."""


async def test_an_abort_ends_the_run_and_its_job_and_a_retry_goes_on(lab: Lab) -> None:
    lab.on_job = silent
    lab.everything()
    lab.start()
    await lab.until(lambda: lab.list("jobs"))
    ask(lab, "abort", reason="the wrong image")
    await lab.phase("Blocked")
    await lab.until(lambda: lab.list("evalruns")[0]["status"].get("phase") == "Aborted")
    await lab.until(lambda: not lab.list("jobs"))
    run = lab.list("evalruns")[0]
    assert "the wrong image" in run["status"]["message"]
    assert (await answered(lab, "abort"))["by"] == "field manager kubectl-annotate"
    await lab.quiet(60)
    assert len(lab.list("evalruns")) == 1
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    ask(lab, "retry", reason="the right image")
    await lab.phase("Active")
    assert lab.status()["attempts"] == 1
    told = [(e["reason"], e["type"]) for e in lab.events() if e["reason"].startswith("Verb")]
    assert told == [("VerbAccepted", "Normal")] * 2


async def test_an_annotation_that_a_gitops_tool_removes_right_after_is_not_lost(lab: Lab) -> None:
    lab.everything()
    lab.start()
    await lab.phase("Active")
    ask(lab, "demote", reason="strange answers")

    def seen() -> bool:
        if (lab.status().get("verbs") or {}).get("demote"):
            annotate(lab, demote=None, reason=None)
            return True
        return False

    await lab.until(seen)
    await lab.phase("Blocked")
    assert lab.mode() == "Shadow"
    assert lab.condition("Promoted")["reason"] == "DemoteRequested"
    assert "strange answers" in lab.condition("Promoted")["message"]


@pytest.mark.parametrize("late", [False, True])
async def test_killed_between_the_answer_and_what_follows_from_it(lab: Lab, late: bool) -> None:
    lab.everything()
    first = lab.start()
    await lab.phase("Active")

    def answer(call: Call) -> bool:
        return call.verb == "replace" and "demote" in ((call.body.get("status") or {}).get("verbs") or {})

    lab.server.faults.append(Fault(answer, lab.server.kill, late=late))
    ask(lab, "demote", reason="strange answers")
    await lab.until(lambda: lab.server.dead)
    await lab.kill(first)
    if late:
        annotate(lab, demote=None, reason=None)
    lab.start()
    await lab.phase("Blocked")
    assert lab.mode() == "Shadow"
    assert len([e for e in lab.events() if e["reason"] == "VerbAccepted"]) == 1


async def test_a_promotion_waits_for_its_approval_and_for_nothing_else(lab: Lab) -> None:
    lab.everything(promotion={"approval": "Manual"})
    lab.start()
    await lab.phase("AwaitingApproval")
    assert lab.condition("Ready")["status"] == "True"
    assert lab.mode() == "Shadow"
    asked = lab.status()["approval"]
    run = lab.get("evalruns", asked["run"])
    assert asked["scorecardSha256"] == run["status"]["scorecard"]["sha256"]
    ask(lab, "approve", by="alice")
    await lab.phase("Active")
    assert lab.status()["promotion"]["approvedBy"] == "alice, field manager kubectl-annotate"


async def test_a_dry_run_ends_with_a_verdict_and_is_never_evidence(lab: Lab) -> None:
    lab.everything(observation=LONG, mode="Shadow")
    lab.start()
    await lab.phase("Observing")
    before = lab.status()
    content = {"suiteRef": {"name": "suite"}, "componentRef": {"name": "live"}, "trigger": "Manual"}
    lab.create("evalruns", "tried", spec={**content, "dryRun": True})
    lab.create("evalruns", "by-hand", spec=content)
    for name in ("tried", "by-hand"):
        await lab.until(
            lambda name=name: lab.get("evalruns", name).get("status", {}).get("phase") == "Passed"
        )
    evidence = lab.status()["evidence"]
    assert {run["name"] for run in evidence["runs"]}.isdisjoint({"tried", "by-hand"})
    assert evidence["passing"] - before["evidence"]["passing"] <= 1


async def test_what_others_set_active_is_taken_back_twice_and_then_left_alone(lab: Lab) -> None:
    lab.everything(observation=LONG, driftPolicy="Revert")
    lab.start()
    await lab.phase("Observing")
    for _ in range(2):
        set_key(lab, "Active")
        await lab.until(lambda: lab.mode() == "Shadow")
        await lab.until(lambda: lab.status().get("mode") == "Shadow" and "intent" not in lab.status())
    set_key(lab, "Active")
    await lab.reason("Stalled", "ConfigConflict")
    assert len(lab.key_writes()) == 2
    assert lab.mode() == "Active"


async def test_an_aborted_guard_run_ends_and_the_component_stays_active_and_guarded(lab: Lab) -> None:
    lab.everything(guard={"interval": "1h"})
    lab.start()
    await lab.phase("Active")
    lab.on_job = silent
    ask(lab, "run")
    current = (await lab.until(lambda: lab.status().get("currentRun")))["name"]
    await lab.until(lambda: [job for job in lab.list("jobs") if job["metadata"]["name"].startswith(current)])
    ask(lab, "abort", reason="it hangs")
    await lab.until(lambda: lab.get("evalruns", current).get("status", {}).get("phase") == "Aborted")
    await lab.until(
        lambda: not [job for job in lab.list("jobs") if job["metadata"]["name"].startswith(current)]
    )
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    made = {run["metadata"]["name"] for run in lab.list("evalruns")}

    def another_passed() -> bool:
        new = [run for run in lab.list("evalruns") if run["metadata"]["name"] not in made]
        return any((run.get("status") or {}).get("phase") == "Passed" for run in new)

    await lab.until(another_passed, within=600)
    assert (lab.mode(), lab.status()["phase"]) == ("Active", "Active")


async def test_with_a_baseline_that_does_not_fit_any_more_the_guard_goes_on_without_the_floor(
    lab: Lab,
) -> None:
    lab.everything(guard={"interval": "5m"})
    lab.start()
    await lab.phase("Active")
    await lab.quiet(5)
    runs = len(lab.list("evalruns"))
    lab.store.edit(
        "configmaps",
        NAMESPACE,
        "incidents",
        lambda body: body["data"].update({"ground-truth.json": body["data"]["ground-truth.json"] + "\n"}),
    )
    await lab.reason("Degraded", "BaselineStale", within=600)
    await lab.until(lambda: len(lab.list("evalruns")) > runs, within=600)
    await lab.until(lambda: "currentRun" not in lab.status(), within=600)
    newest = max(lab.list("evalruns"), key=lambda run: str(run["metadata"]["creationTimestamp"]))
    assert newest["spec"]["trigger"] == "Guard"
    assert newest["status"]["phase"] == "Passed", newest["status"]
    assert "stale" in newest["status"]["message"]
    assert (lab.mode(), lab.status()["phase"]) == ("Active", "Active")
    told = [event["reason"] for event in lab.events()]
    assert told.count("BaselineStale") == 1


async def test_guard_runs_without_a_verdict_are_an_alarm_that_ends_with_one(lab: Lab) -> None:
    lab.everything(guard={"interval": "1h"})
    lab.start()
    await lab.phase("Active")
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job, log=b"nothing")
    ask(lab, "run")
    await lab.reason("Degraded", "GuardBlind", within=7200)
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    await lab.until(lambda: not lab.condition("Degraded"), within=7200)
    assert [event["reason"] for event in lab.events()].count("GuardBlind") == 1
    assert lab.mode() == "Active"


async def test_deleted_with_revert_the_key_is_shadow_before_the_object_is_gone(lab: Lab) -> None:
    lab.everything(deletionPolicy="RevertToShadow")
    lab.start()
    await lab.phase("Active")
    await lab.until(lambda: lab.get("rcacomponents", "live")["metadata"].get("finalizers") == [FINALIZER])
    lab.store.delete("rcacomponents", NAMESPACE, "live")
    await lab.until(lambda: not lab.list("rcacomponents"))
    assert lab.mode() == "Shadow"
    assert "RevertedToShadow" in [event["reason"] for event in lab.events()]
    await lab.quiet()


@pytest.mark.parametrize("number", range(0, 8))
async def test_killed_at_any_write_of_a_deletion_the_next_operator_ends_it(lab: Lab, number: int) -> None:
    lab.everything(deletionPolicy="RevertToShadow")
    first = lab.start()
    await lab.phase("Active")
    await lab.quiet(5)
    start = len(lab.server.writes())
    fault = Fault(
        lambda call: call.writes and len(lab.server.writes()) == start + number + 1,
        lab.server.kill,
        late=bool(number % 2),
    )
    lab.server.faults.append(fault)
    lab.store.delete("rcacomponents", NAMESPACE, "live")
    await lab.until(lambda: fault.hits or not lab.list("rcacomponents"))
    await lab.kill(first)
    lab.server.faults.clear()
    await asyncio.sleep(30)
    lab.start()
    await lab.until(lambda: not lab.list("rcacomponents"), within=400)
    assert lab.mode() == "Shadow"


async def test_deleted_while_no_operator_is_there_it_is_put_back_by_the_next(lab: Lab) -> None:
    lab.everything(deletionPolicy="RevertToShadow")
    first = lab.start()
    await lab.phase("Active")
    await lab.quiet(5)
    await lab.stop(first)
    lab.store.delete("rcacomponents", NAMESPACE, "live")
    await asyncio.sleep(3600)
    assert lab.list("rcacomponents")
    lab.start()
    await lab.until(lambda: not lab.list("rcacomponents"))
    assert lab.mode() == "Shadow"


async def test_a_namespace_that_goes_with_everything_in_it_is_not_held(lab: Lab) -> None:
    lab.everything(deletionPolicy="RevertToShadow")
    lab.start()
    await lab.phase("Active")
    await lab.quiet(5)
    for plural, name in (("configmaps", "modes"), ("configmaps", "incidents"), ("evalsuites", "suite")):
        lab.store.delete(plural, NAMESPACE, name)
    lab.store.delete("rcacomponents", NAMESPACE, "live")
    await lab.until(lambda: not lab.list("rcacomponents"))


def forbidden(call: Call) -> None:
    raise Refusal(403, "Forbidden", f"{call.plural} is forbidden")


async def test_rights_that_are_gone_hold_no_object_for_longer_than_five_minutes(lab: Lab) -> None:
    lab.everything(deletionPolicy="RevertToShadow")
    lab.start()
    await lab.phase("Active")
    await lab.quiet(5)
    lab.server.faults.append(
        Fault(lambda call: call.plural == "configmaps" and call.verb == "patch", forbidden, times=10_000)
    )
    lab.store.delete("rcacomponents", NAMESPACE, "live")
    await lab.until(lambda: not lab.list("rcacomponents"), within=900)
    assert lab.mode() == "Active"
    assert "RevertGivenUp" in [event["reason"] for event in lab.events()]


async def test_without_the_right_to_read_the_key_the_object_goes_at_once(lab: Lab) -> None:
    lab.everything(deletionPolicy="RevertToShadow")
    lab.start()
    await lab.phase("Active")
    await lab.quiet(5)
    lab.server.faults.append(
        Fault(lambda call: call.path == "configmaps/modes" and call.verb == "get", forbidden, times=10_000)
    )
    lab.store.delete("rcacomponents", NAMESPACE, "live")
    await lab.until(lambda: not lab.list("rcacomponents"))


async def test_a_spec_that_cannot_be_read_any_more_does_not_hold_the_object(lab: Lab) -> None:
    lab.everything(deletionPolicy="RevertToShadow")
    lab.start()
    await lab.phase("Active")
    await lab.quiet(5)
    spec(lab, revision=5)
    lab.store.delete("rcacomponents", NAMESPACE, "live")
    await lab.until(lambda: not lab.list("rcacomponents"))
