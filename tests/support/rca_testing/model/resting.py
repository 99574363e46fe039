"""What a component's status has to say when nothing is due: what it waits for, who has to do what, in words for people.

`kubectl describe` shows the conditions and the last transition; nobody should have to read a log beside them.
"""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.reasons import Reason
from rca_rollout.kube.resources import COMPONENTS, RUNS
from rca_rollout.runtime.queue import Key
from rca_testing.model import agent
from rca_testing.model.installation import DATA, KEYS, SUITE, TARGET, Installation
from rca_testing.model.store import NAMESPACE, Body

ALWAYS = ("Ready", "Promoted", "TargetInSync")
OPEN = (None, "Pending", "Running")


def check(world: Installation) -> set[tuple[str, str]]:
    """Every component has a way on, and says what it is. The classes of states that were found: phase, and why not Active."""
    found = set()
    for body in world.store.all(COMPONENTS):
        name, status = body["metadata"]["name"], body.get("status") or {}
        key = Key("RcaComponent", NAMESPACE, name)
        current = (status.get("currentRun") or {}).get("name")
        assert _open_runs(world, body) <= {current}, f"{name}: {_open_runs(world, body)} beside {current}"
        conditions = {one["type"]: one for one in status.get("conditions") or ()}
        planned = key in world.leader.wakes or _under_way(world, current)
        assert planned or _stopped(body, status, conditions), f"{name} waits for nothing: {status}"
        if not body["metadata"].get("deletionTimestamp") and key not in world.leader.failed:
            _explained(name, status, conditions, world)
            _looked_after(body, status, key, world)
            found.add((status["phase"], conditions["Promoted"]["reason"]))
    for run in world.store.all(RUNS):
        status = run.get("status") or {}
        if Key("EvalRun", NAMESPACE, run["metadata"]["name"]) in world.leader.failed:
            continue
        assert _words(status.get("reason"), status.get("message")), f"{run['metadata']['name']} says nothing"
    return found


def _looked_after(body: Body, status: Body, key: Key, world: Installation) -> None:
    """No watch tells of workloads and inputs: they are looked at again soon, and the mode is as the consumers have it."""
    name, spec = key.name, body["spec"]
    governs = status.get("mode") == "Active"
    if (spec.get("workloadRef") or spec.get("inputs")) and status["phase"] != "Blocked":
        wake = world.leader.wakes.get(key)
        assert wake is not None, f"{name} runs what nobody looks at again"
        left = (wake - world.clock()).total_seconds()
        assert left <= (11 if governs else 31), f"{name} is looked at again in {left} s only"
    asked = status.get("confirmation") or {}
    if asked.get("state") == "Waiting" and spec.get("confirmation") and status["phase"] != "Pending":
        deadline = datetime.fromisoformat(asked["deadline"])
        assert deadline > world.clock(), f"{name} waits for a confirmation beyond {asked}"
    running = agent.truths(spec, world.store.objects)
    if len(running) != 1 or not world.seen(name) or status["phase"] == "Pending":
        return
    if spec.get("workloadRef") and not agent.rolled(world.store.objects):
        return  # it is read as what was promoted reads it
    active = (spec["target"].get("values") or {}).get("active", "Active")
    acts = next(iter(running)).acts(world.value(name), active)
    assert acts == governs, (
        f"{name}: {running} {'acts' if acts else 'does not act'}, and {status['mode']} is said"
    )


def _explained(name: str, status: Body, conditions: dict[str, Body], world: Installation) -> None:
    for kind in ALWAYS:
        assert kind in conditions, f"{name} has no condition {kind}"
    for kind, one in conditions.items():
        assert _words(one["reason"], one["message"]), (
            f"{name}: {kind} says {one['message']!r} ({one['reason']})"
        )
    last = status.get("lastTransition") or {}
    assert _words(last.get("reason"), last.get("message")), f"{name}: nothing is told of the last transition"
    told = " ".join(one["message"] for one in conditions.values())
    epoch = status.get("epoch")
    stalled = conditions.get("Stalled", {}).get("status") == "True"
    match status["phase"]:
        case "Blocked" if not stalled:
            assert f"{name} rca.bluerobin.io/retry={epoch}/" in told, (
                f"{name} does not say how to retry: {told}"
            )
        case "AwaitingApproval" if "approved by" not in told:
            assert f"{name} rca.bluerobin.io/approve={epoch}/" in told, f"{name} does not say how: {told}"
        case "Suspended":
            assert "spec.suspend" in told
        case "Pending":
            assert any(word in told for word in (TARGET, SUITE, DATA, agent.NAME, agent.PROMPTS, *KEYS)), (
                f"{name} names no object: {told}"
            )
        case "Evaluating" | "Observing" if not status.get("retry"):
            current = (status.get("currentRun") or {}).get("name")
            assert current is None or current in told, f"{name} does not name {current}: {told}"
    if stalled:
        names = (TARGET, SUITE, agent.NAME, agent.PROMPTS, *KEYS, *KEYS.values())
        assert any(word in conditions["Stalled"]["message"] for word in names), (
            f"{name} names no object: {told}"
        )


def _words(reason: str | None, message: str | None) -> bool:
    """A reason that the documentation has, and a sentence that tells something."""
    text = message or ""
    return reason in set(Reason) and len(text) >= 10 and "unknown" not in text.lower() and "None" not in text


def _open_runs(world: Installation, component: Body) -> set[str]:
    """Runs that the component owns and that have not ended."""
    uid = component["metadata"]["uid"]
    return {
        run["metadata"]["name"]
        for run in world.store.all(RUNS)
        if any(owner["uid"] == uid for owner in run["metadata"].get("ownerReferences") or ())
        and (run.get("status") or {}).get("phase") in OPEN
    }


def _under_way(world: Installation, current: str | None) -> bool:
    run = current and world.store.find(RUNS, current)
    return bool(run) and (run.get("status") or {}).get("phase") in OPEN


def _stopped(body: Body, status: Body, conditions: dict[str, Body]) -> bool:
    """Where only a person goes on: named, and said to be so."""
    if conditions.get("Stalled", {}).get("status") == "True":
        return True
    if status.get("phase") in ("Blocked", "Suspended", "AwaitingApproval"):
        return True
    return bool(body["metadata"].get("deletionTimestamp"))
