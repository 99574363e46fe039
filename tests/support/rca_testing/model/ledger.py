"""What really happened, and whether it keeps the promises. Nothing here asks the status whether something is true.

For each component: in which round of its epoch and context a run was made, what its Job really came to, how much time
really passed while its observation was not held. A write towards Active is held against that, at the moment it lands.
From then on the consumers are asked: who acts on the word has to be exactly what was measured, or be put back in `LOOKS` looks.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rca_rollout.api import EvalSuite, RcaComponent, parse
from rca_rollout.api.common import ApprovalPolicy, DeletionPolicy, Mode
from rca_rollout.api.live import OnNoData, Operator, Role
from rca_rollout.core.epoch import epoch_of
from rca_rollout.core.inputs import resolve_inputs
from rca_rollout.core.lifecycle.finalizer import FINALIZER
from rca_rollout.core.names import scorecard_name
from rca_rollout.core.parts import INDEX_KEY, read_index
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, with_inputs
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.runtime.parsed import parsed
from rca_testing.model import agent, jobs
from rca_testing.model.agent import Truth
from rca_testing.model.consumers import Heard
from rca_testing.model.installation import DATA, KEYS, SUITE, TARGET, Installation
from rca_testing.model.process import MANAGER, Step, resolve
from rca_testing.model.store import Body, Change, Objects

SLACK = 2.0  # status holds whole seconds
LOOKS = 3
"""So many looks may be over before what was not measured has stopped to govern: one sees it, one writes, and one more where
something else was under way."""


@dataclass
class MadeRun:
    """One EvalRun of a component of ours, as it was made."""

    name: str
    uid: str
    component: str
    epoch: str
    round: tuple[int, int]
    trigger: str
    observed: float
    prompts: frozenset[str | None] = frozenset()
    jobs: list[str] = field(default_factory=list)


@dataclass
class Track:
    """One component, by UID."""

    name: str
    epoch: tuple[str | None, int] = (None, 0)
    context: str | None = None
    round: tuple[int, int] = (0, 0)
    observed: float = 0.0
    began_at: str | None = None
    failed: set[int] = field(default_factory=set)
    failing: int = 0
    answered: dict[tuple[str, str], str] = field(default_factory=dict)
    asked: set[tuple[str, str]] = field(default_factory=set)


@dataclass(frozen=True)
class Written:
    """A word for Active that the operator wrote and nobody has changed since: for which component, and what ran then."""

    uid: str
    value: str
    truths: frozenset[Truth]


class Ledger:
    """Watches the store of an installation. A broken promise is an `AssertionError` that says which."""

    def __init__(self, installation: Installation) -> None:
        self.world = installation
        self.tracks: dict[str, Track] = {}
        self.runs: dict[str, MadeRun] = {}
        self.asked: dict[str, jobs.Asked] = {}
        self.promotions = 0
        self.written: dict[str, Written] = {}
        self.unconfirmed: dict[str, tuple[str, str, int]] = {}
        """By component: UID, the word that we wrote, and how many confirmations had been heard until then."""
        self.owed: dict[str, tuple[str, str, int]] = {}
        self.month: tuple[str, str, str] = ("", "", "")
        """The suite's UID, its budget and the month: while all are the same, the Jobs of it are counted."""
        self.begun = 0
        self.of_workloads = 0
        self.windows = 0
        self.most_looks = 0
        self.indices: dict[str, str] = {}
        self.strange: dict[str, tuple[frozenset[Truth], int]] = {}
        self.broken: list[str] = []
        installation.store.watchers.append(self._watch)
        for place, body in installation.store.objects.items():
            if place[0] == "rcacomponents":
                self.tracks[body["metadata"]["uid"]] = Track(place[1])

    # -- what happens

    def pass_time(self, seconds: float) -> None:
        """Called before the time goes on."""
        for uid, body in self._components():
            status = body.get("status") or {}
            seen = status.get("observation") or {}
            if seen.get("startedAt") and not seen.get("heldSince") and not status.get("suspendedAt"):
                self.tracks[uid].observed += seconds

    def _components(self) -> Iterator[tuple[str, Body]]:
        for place, body in self.world.store.objects.items():
            if place[0] == "rcacomponents":
                yield body["metadata"]["uid"], body

    def _watch(self, change: Change) -> None:
        try:
            self._take(change)
        except AssertionError as broken:
            # Raised in the middle of the operator's step it might be taken for an answer of the server.
            self.broken.append(str(broken))

    def verify(self) -> None:
        """Raises what was found broken since the last call."""
        if self.broken:
            raise AssertionError("; ".join(self.broken))

    def _take(self, change: Change) -> None:
        plural, _ = change.place
        step = self.world.current if change.manager == MANAGER else None
        if plural == "rcacomponents" and change.after:
            self._component(change.after)
        if plural == "evalruns" and change.before is None and change.after and step:
            self._made(change.after)
        if plural == "jobs" and change.after and change.before is None:
            self._job(change)
        if plural == "configmaps" and change.place[1] == TARGET:
            for name, key in KEYS.items():
                old, new = (
                    ((body or {}).get("data") or {}).get(key) for body in (change.before, change.after)
                )
                if old != new:
                    owed = self.owed.get(name)
                    for kept in (self.written, self.unconfirmed, self.owed):
                        kept.pop(name, None)
                    if step and change.before and change.after:
                        self._written(name, new, change, step, owed)

    def _component(self, body: Body) -> None:
        uid, status = body["metadata"]["uid"], body.get("status") or {}
        track = self.tracks.setdefault(uid, Track(body["metadata"]["name"]))
        for verb in ("approve", "retry", "abort", "run", "demote"):
            token = (body["metadata"].get("annotations") or {}).get(f"rca.bluerobin.io/{verb}")
            if token:
                track.asked.add((verb, token))
        epoch, context = (status.get("epoch"), status.get("attempts", 0)), status.get("context")
        fresh = epoch != track.epoch
        if fresh:
            track.round = (track.round[0] + 1, track.round[1])
            track.epoch, track.failing = epoch, 0
        if context != track.context:
            track.round, track.context = (track.round[0], track.round[1] + 1), context
        began = (status.get("observation") or {}).get("beganAt")
        if began != track.began_at:
            track.began_at, track.observed = began, 0.0
        evidence = status.get("evidence") or {}
        failing = evidence.get("failing", 0)
        assert failing >= track.failing, (
            f"{track.name}: a failure was forgotten: {track.failing} -> {failing}"
        )
        track.failing = failing
        for run in evidence.get("runs") or ():
            made = self.runs.get(run["uid"])
            assert made is not None, f"{track.name}: counts run {run['name']}, which nobody made"
            assert made.component == uid, f"{track.name}: counts run {run['name']} of another component"
            if run["verdict"] == "Failed":
                track.failed.add(made.round[0])
            else:
                assert self.passed(made), f"{track.name}: counts run {run['name']} as passed, which did not"
        self._answers(track, status)
        self._promoted(uid, track, status)
        self._confirmed(body)

    def _answers(self, track: Track, status: Body) -> None:
        for verb, answer in (status.get("verbs") or {}).items():
            if verb == "handled":
                assert len(set(answer)) == len(answer), f"{track.name}: a verb was handled twice"
                continue
            place = (verb, answer["token"])
            assert place in track.asked, f"{track.name}: {place} was answered, and never asked"
            before = track.answered.setdefault(place, answer["at"])
            assert before == answer["at"], f"{track.name}: {place} was handled twice"

    def _promoted(self, uid: str, track: Track, status: Body) -> None:
        promotion = status.get("promotion")
        if not promotion or promotion["cause"] != "Promoted":
            return
        place = (uid, promotion.get("run"))
        made = next((run for run in self.runs.values() if (run.component, run.name) == place), None)
        assert made is not None, f"{track.name}: promoted on {promotion.get('run')}, which nobody made"
        assert self.passed(made), f"{track.name}: promoted on {made.name}, which did not pass"
        assert made.epoch == promotion["epoch"], f"{track.name}: promoted on a run of another epoch"
        digests = {self.world.digests.get(job) for job in made.jobs}
        if any(job in self.world.parts for job in made.jobs):
            digests |= self._whole(made)
        assert promotion["scorecardSha256"] in digests, f"{track.name}: promoted on another scorecard"
        assert {self.asked[job].revision for job in made.jobs} == {promotion["revision"]}

    def _whole(self, made: MadeRun) -> set[str | None]:
        """The digest of the index that is kept of this run, where it is of all parts of one honest Job."""
        kept = self.world.store.objects.get(("configmaps", scorecard_name(made.name)), {})
        text = (kept.get("data") or {}).get(INDEX_KEY)
        if text is None:
            return {self.indices[made.uid]} if made.uid in self.indices else set()
        parts = tuple(row["sha256"] for row in read_index(text))
        if all(self.world.parts.get(job) != parts for job in made.jobs):
            return set()
        self.indices[made.uid] = hashlib.sha256(text.encode()).hexdigest()
        return {self.indices[made.uid]}

    def _confirmed(self, body: Body) -> None:
        """What is called promoted, where consumers are to confirm, was confirmed by every one of them."""
        name, uid = body["metadata"]["name"], body["metadata"]["uid"]
        if not body["spec"].get("confirmation"):
            for kept in (self.unconfirmed, self.owed):
                kept.pop(name, None)
            return
        status = body.get("status") or {}
        conditions = {one["type"]: one["status"] for one in status.get("conditions") or ()}
        promotion = status.get("promotion") or {}
        written = self.unconfirmed.get(name)
        told = conditions.get("Promoted") == "True" and promotion.get("cause") == "Promoted"
        if told and status.get("mode") == "Active" and written and written[0] == uid:
            assert self._heard(name, written, "Active"), (
                f"{name}: promoted, and {written[1]} is not confirmed"
            )

    def _heard(self, name: str, written: tuple[str, str, int], mode: str) -> bool:
        uid, value, before = written
        return Heard(name, uid, value, mode) in self.world.consumers.heard[before:]

    # -- what governs

    def govern(self) -> None:
        """Asks every consumer that runs. Whom our word made Active has to be what was measured when it was written."""
        objects = self.world.store.objects
        for name, written in self.written.items():
            body = objects.get(("rcacomponents", name))
            if body is None or body["metadata"]["uid"] != written.uid:
                continue
            active = (body["spec"]["target"].get("values") or {}).get("active", "Active")
            running = agent.truths(body["spec"], objects)
            strange = frozenset(
                one for one in running if one not in written.truths and one.acts(written.value, active)
            )
            if not strange or _excused(body, objects, strange):
                self.strange.pop(name, None)
                continue
            self.windows += name not in self.strange
            found = self.strange.get(name, (strange, self.world.store.sequence))
            since = self.strange[name] = (
                strange,
                found[1] if found[0] == strange else self.world.store.sequence,
            )
            looks = sum(began >= since[1] for began in self.world.looks.get(name, ())[-2 * LOOKS :])
            self.most_looks = max(self.most_looks, looks)
            named = {one.revision for one in written.truths}
            assert looks <= LOOKS, f"{name}: {strange} governs, {written} was measured: {looks} looks"
            if "{revision}" in active:
                assert {one.revision for one in strange} <= named, f"{name}: {strange} governs by {written}"

    def _made(self, body: Body) -> None:
        spec, metadata = body["spec"], body["metadata"]
        owner = metadata["ownerReferences"][0]["uid"]
        track = self.tracks[owner]
        current = (self._status(owner).get("currentRun") or {}).get("name")
        assert current == metadata["name"], (
            f"{track.name}: run {metadata['name']} is not the one status names"
        )
        self.runs[metadata["uid"]] = MadeRun(
            metadata["name"],
            metadata["uid"],
            owner,
            spec["epoch"],
            track.round,
            spec["trigger"],
            track.observed,
            frozenset(agent.prompt_in(state) for state in self._states()),
        )

    def _states(self) -> list[Objects]:
        """The states of the world in which the present step was."""
        step, store = self.world.current, self.world.store
        assert step is not None
        return [store.at(at) for at in range(step.began, store.sequence)] or [store.objects]

    def _status(self, uid: str) -> Body:
        return next((body.get("status") or {} for found, body in self._components() if found == uid), {})

    def _job(self, change: Change) -> None:
        job = change.after
        assert job is not None
        uid, owner = job["metadata"]["uid"], job["metadata"]["ownerReferences"][0]["uid"]
        self.asked[uid] = jobs.asked(job)
        alive = [
            other["metadata"]["name"]
            for place, other in change.objects.items()
            if place[0] == "jobs"
            and other["metadata"]["ownerReferences"][0]["uid"] == owner
            and not (other.get("status") or {}).get("conditions")
        ]
        assert alive == [job["metadata"]["name"]], f"two Jobs of one run at once: {alive}"
        if made := self.runs.get(owner):
            made.jobs.append(uid)
        self._paid(owner, change.objects)

    def _paid(self, owner: str, objects: Objects) -> None:
        """No month has more evaluations than its budget; those that guard what governs are beside it."""
        run = next(body for body in objects.values() if body["metadata"]["uid"] == owner)
        suite = objects.get(("evalsuites", SUITE))
        if run["spec"]["trigger"] == "Guard" or suite is None:
            return
        budget, ledger = suite["spec"].get("budget"), (suite.get("status") or {}).get("ledger") or {}
        month = (suite["metadata"]["uid"], repr(budget), str(ledger.get("month")))
        self.begun = self.begun + 1 if month == self.month else 1
        self.month = month
        if budget:
            assert self.begun <= budget["runsPerMonth"], f"{self.begun} evaluations in {month}"

    def passed(self, run: MadeRun) -> bool:
        """Whether a Job of this run really passed, and told it honestly."""
        return any(self.world.outcomes.get(job) is jobs.Honest.PASSES for job in run.jobs)

    # -- the promise about production

    def _written(
        self, name: str, value: str | None, change: Change, step: Step, before: tuple[str, str, int] | None
    ) -> None:
        body = self._decided_on(name, step)
        component = parse(RcaComponent, body)
        assert isinstance(component, RcaComponent), f"{name}: written for a spec that cannot be read"
        states = self._states()
        active = component.spec.target.values.active
        # Who ran, alone, at some moment while it was decided. Half of a rollout is nobody.
        running = {
            one
            for found in (agent.truths(body["spec"], state) for state in states)
            if len(found) == 1
            for one in found
            if one.acts(value, active)
        }
        if value == component.spec.target.values.shadow or not running:
            assert value == component.spec.target.values.shadow, f"{name}: written {value!r}"
            if component.spec.confirmation and not component.metadata.deletion_timestamp:
                heard = len(self.world.consumers.heard)
                self.owed[name] = (component.metadata.uid, str(value), heard)
            return
        self.promotions += 1
        self.of_workloads += any(one.digest for one in running)
        spec, uid = component.spec, component.metadata.uid
        track = self.tracks[uid]
        said = f"{name} was switched to Active"
        assert spec.mode is Mode.ACTIVE, f"{said} against spec.mode"
        assert not spec.suspend, f"{said} while suspended"
        assert component.metadata.deletion_timestamp is None, f"{said} while being deleted"
        assert _watched(change.before), f"{said} in a ConfigMap that does not opt in"
        epochs = {epoch for state in states if (epoch := _epoch(component, state))}
        good = [
            run
            for run in self.runs.values()
            if run.component == uid
            and run.epoch in epochs
            and run.round == track.round
            and self.passed(run)
            and any(self._measured(run, one) for one in running)
        ]
        wanted = spec.observation.min_passing_runs
        digests = Counter(self.world.ran.get(job) for run in good for job in run.jobs[-1:])
        alike = digests.pop(None, 0) + max(digests.values(), default=0)
        assert alike >= wanted, f"{said} on {alike} passing runs of {wanted} for {running}"
        self.written[name] = Written(uid, str(value), frozenset(running))
        assert track.round[0] not in track.failed, f"{said} in an epoch with a failed run"
        lost = [run.name for run in self.runs.values() if self._failed(run, uid, track, states[0])]
        assert not lost, f"{said} although {lost} failed"
        block = component.status.block
        assert block is None or block.epoch != component.status.epoch, f"{said} in spite of {block}"
        beside = self._siblings(component, change, states)
        modes = {frozenset(self.asked[job].with_modes.items()) for run in good for job in run.jobs}
        assert modes & beside, f"{said} beside other modes than were measured: {beside} {modes}"
        period = spec.observation.period.seconds
        assert max(run.observed for run in good) + SLACK >= period, f"{said} without a closing run"
        if spec.promotion.approval is ApprovalPolicy.MANUAL:
            self._approved(said, component, track)
        if spec.promotion.require_benefit:
            raise AssertionError(f"{said} without a benefit")
        if spec.deletion_policy is DeletionPolicy.REVERT_TO_SHADOW:
            assert FINALIZER in component.metadata.finalizers, f"{said} without its finalizer"
        self._conditions(said, component, step)
        if component.spec.confirmation:
            if before and before[0] == uid:
                assert self._heard(name, before, "Shadow"), f"{said}, and its demotion is not confirmed"
            self.unconfirmed[name] = (uid, str(value), len(self.world.consumers.heard))

    def _measured(self, run: MadeRun, one: Truth) -> bool:
        """Whether this run measured exactly that."""
        return one.prompt in (run.prompts if one.prompt is not None else (None,)) and all(
            self.asked[job].revision == one.revision and one.digest in (None, self.world.ran.get(job))
            for job in run.jobs
        )

    def _failed(self, run: MadeRun, uid: str, track: Track, state: Objects) -> bool:
        """Whether this run of the present round ended as failed before the step began, told honestly by its Job."""
        body = state.get(("evalruns", run.name), {})
        return (
            (run.component, run.round) == (uid, track.round)
            and (body.get("metadata") or {}).get("uid") == run.uid
            and run.trigger != "Guard"
            and (body.get("status") or {}).get("phase") == "Failed"
            and any(self.world.outcomes.get(job) is jobs.Honest.LOSES for job in run.jobs)
        )

    def _decided_on(self, name: str, step: Step) -> Body:
        """The component as it stood when the step began."""
        state = self.world.store.at(step.began)
        body = state.get(("rcacomponents", name))
        assert body is not None, f"{name}: written for a component that does not exist"
        return body

    def _siblings(
        self, component: RcaComponent, change: Change, states: list[Objects]
    ) -> set[frozenset[tuple[str, str]]]:
        """The mode vectors that stood while it was decided. What we wrote ourselves counts as it is now."""
        found = set()
        for state in (*states, change.objects):
            modes = {component.spec.target.key: "Active"}
            for place, body in state.items():
                if place[0] != "rcacomponents" or body["metadata"].get("deletionTimestamp"):
                    continue
                name = place[1]
                if name != component.metadata.name:
                    modes[KEYS[name]] = self._mode(name, body, state, change)
            found |= {frozenset(each.items()) for each in _each(modes)}
        return found

    def _mode(self, name: str, body: Body, state: Objects, change: Change) -> str:
        now = change.objects.get((("configmaps"), TARGET), {})
        ours = any(
            entry["manager"] == MANAGER and f"f:{KEYS[name]}" in entry["fieldsV1"]["f:data"]
            for entry in now.get("metadata", {}).get("managedFields") or ()
        )
        held = now if ours else state.get(("configmaps", TARGET), {})
        active = ((body["spec"]["target"].get("values")) or {}).get("active", "Active")
        value = (held.get("data") or {}).get(KEYS[name])
        if "{revision}" in active and str(value).startswith("Active@"):
            return EITHER  # by what the other one was last seen to run
        return "Active" if value == active else "Shadow"

    def _approved(self, said: str, component: RcaComponent, track: Track) -> None:
        answer = component.status.verbs and component.status.verbs.approve
        assert answer, f"{said} without an approval"
        assert ("approve", answer.token) in track.asked, f"{said} on an approval that nobody gave"
        # Who approves once more is refused, and what was approved before stays so.
        again = answer.message.startswith("approved already")
        assert again or answer.result == "Accepted", f"{said} on a refused approval: {answer.message}"
        approval = component.status.approval
        assert approval is not None, f"{said} without an approval"
        assert approval.approved_at, f"{said} before it was approved"
        assert answer.token.split("/")[0] == component.status.epoch, f"{said} on an approval of another epoch"
        closing = component.status.evidence.runs if component.status.evidence else ()
        assert closing, f"{said} on no evidence"
        assert approval.context == component.status.context, f"{said} on an approval of another context"

    def _conditions(self, said: str, component: RcaComponent, step: Step) -> None:
        for one in component.spec.observation.conditions:
            if one.role is Role.INFO:
                continue
            told = step.process.told.get((component.metadata.uid, one.name))
            assert told is not None, f"{said} without a reading of {one.name}"
            age = (self.world.clock() - told.at).total_seconds()
            assert age <= one.interval.seconds + 70, f"{said} on a reading that is {age} s old"
            if not told.values:
                assert one.on_no_data is OnNoData.IGNORE, f"{said} without data of {one.name}"
                continue
            assert one.operator is Operator.LESS_THAN, "the model's conditions say LessThan"
            assert all(float(v) < float(one.threshold) for v in told.values), f"{said} against {one.name}"


EITHER = "Active or Shadow"


def _each(modes: dict[str, str]) -> Iterator[dict[str, str]]:
    open_ = next((key for key, mode in modes.items() if mode == EITHER), None)
    if open_ is None:
        yield modes
        return
    for mode in ("Active", "Shadow"):
        yield from _each({**modes, open_: mode})


def _excused(body: Body, objects: Objects, strange: frozenset[Truth]) -> bool:
    """Where it is said that the key cannot be written, or that what is gone (a prompt) governs unguarded; or nobody is asked."""
    target = objects.get(("configmaps", TARGET))
    conditions = {one["type"]: one for one in (body.get("status") or {}).get("conditions") or ()}
    conflict = conditions.get("TargetInSync", {}).get("status") == "False"
    lost = bool(body["spec"].get("inputs")) and all(one.prompt is None for one in strange)
    leaving = "deletionTimestamp" in body["metadata"]
    return lost or leaving or conflict or not _watched(target) or bool((target or {}).get("immutable"))


def _watched(body: Body | None) -> bool:
    labels = ((body or {}).get("metadata") or {}).get("labels") or {}
    return labels.get("rca.bluerobin.io/watch") == "Enabled"


def _epoch(component: RcaComponent, state: Objects) -> str | None:
    """The epoch of a component in one state of the world, or None where its suite cannot be used."""
    body, data = state.get(("evalsuites", SUITE)), state.get(("configmaps", DATA))
    suite: Any = parsed(EvalSuite, body) if body else None
    facts = resolve(SUITE, suite.spec, data, data) if isinstance(suite, EvalSuite) else None
    found = agent.truths(component.spec.to_dict(), state)
    if not isinstance(facts, SuiteFacts) or len(found) != 1:
        return None
    one = next(iter(found))
    inputs = resolve_inputs(component.spec.inputs, lambda _, name: state.get(("configmaps", name)), "default")
    running = with_inputs(Running(one.revision or "", one.digest, one.digest), inputs)
    if isinstance(running, Problem):
        return None
    return epoch_of(component.spec, facts, running, component.status.eval_image)
