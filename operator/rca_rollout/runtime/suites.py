"""Reconciles one EvalSuite: says whether it can be used, keeps its budget, and makes its scheduled runs.

Its components and runs read it themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rca_rollout.api.parse import InvalidSpec, parse
from rca_rollout.api.schedule import ScheduleStatus
from rca_rollout.api.suite import EvalSuite, EvalSuiteStatus
from rca_rollout.core import budget, history, schedule
from rca_rollout.core.clock import earliest
from rca_rollout.core.lifecycle.invalid import invalid_status
from rca_rollout.core.owners import owned
from rca_rollout.core.problem import Problem
from rca_rollout.core.scheduled_run import made, under_way
from rca_rollout.core.suite_status import suite_status, with_budget, with_problem
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.kube.errors import AlreadyExistsError, ConflictError, NotFoundError, RefusedError
from rca_rollout.kube.resources import RUNS, SUITES
from rca_rollout.runtime.cache import Body
from rca_rollout.runtime.lines import Lines
from rca_rollout.runtime.queue import Key
from rca_rollout.runtime.world import World

# ConfigMaps that do not carry our watch label send no events: a missing or broken one is looked for again.
_POLL = timedelta(seconds=10)
_HELD = timedelta(seconds=30)  # a scheduled time that has come and cannot be served yet is looked at again
_MIDNIGHT = timedelta(seconds=1)  # behind the end of a month, so that it has surely begun


@dataclass(frozen=True)
class _Sight:
    """A suite as it was found."""

    key: Key
    suite: EvalSuite
    facts: SuiteFacts | Problem
    runs: list[Body]
    now: datetime


@dataclass(frozen=True)
class _Turn:
    """What became of the schedule in this step."""

    state: ScheduleStatus | None = None
    problem: Problem | None = None
    wake_at: datetime | None = None


class SuiteReconciler:
    def __init__(self, world: World) -> None:
        self._world = world
        self._lines = Lines(world.cache)

    async def reconcile(self, key: Key) -> datetime | None:
        """One step. The moment to look again, or None."""
        world = self._world
        try:
            body = await world.kube.get(SUITES, key.namespace, key.name)
        except NotFoundError:
            return None
        now = world.clock().replace(microsecond=0)
        suite = parse(EvalSuite, body)
        if isinstance(suite, InvalidSpec):
            await world.write_status(SUITES, body, invalid_status(suite, EvalSuiteStatus, now).to_dict())
            return None
        facts = await world.resolve(body)
        status = suite_status(suite, facts, now)
        sight = _Sight(key, suite, facts, await self._runs(key, suite), now)
        status = self._budgeted(sight, status)
        turn = await self._scheduled(sight, status)
        status = status.evolve(schedule=turn.state)
        if turn.problem and not isinstance(facts, Problem):
            status = with_problem(suite, status, turn.problem, now)
        await world.write_status(SUITES, body, status.to_dict())
        await self._tidy(sight, status)
        month = budget.month_end(status.ledger) + _MIDNIGHT if suite.spec.budget and status.ledger else None
        return earliest(turn.wake_at, month, now + _POLL if isinstance(facts, Problem) else None)

    async def _runs(self, key: Key, suite: EvalSuite) -> list[Body]:
        """All of the suite's. What the ledger has made room for and the watch does not know (yet) is asked for by name:
        it would be counted as gone else."""
        found = self._world.cache.runs_of_suite(key.namespace, key.name)
        known = {run["metadata"]["uid"] for run in found}
        ledger = suite.status.ledger
        for reservation in ledger.reservations if ledger else ():
            if reservation.uid not in known:
                try:
                    run = await self._world.kube.get(RUNS, key.namespace, reservation.name)
                except NotFoundError:
                    continue
                if run["metadata"]["uid"] == reservation.uid:
                    found.append(run)
        return found

    def _budgeted(self, sight: _Sight, status: EvalSuiteStatus) -> EvalSuiteStatus:
        key, suite, now = sight.key, sight.suite, sight.now
        spec, old = suite.spec, suite.status.ledger
        ledger = old
        if spec.budget or old:
            line = self._lines.of(key.namespace, key.name, budget.reserved(old))
            active = self._lines.active(key.namespace, key.name)
            ledger = budget.kept(spec, old, sight.runs, line=line, active=active, now=now)
        full = budget.exceeded(spec, ledger, {}) if ledger else None
        return with_budget(suite, status.evolve(ledger=ledger), full, now)

    async def _scheduled(self, sight: _Sight, status: EvalSuiteStatus) -> _Turn:
        """Makes the run whose time has come. It is made before that is written down: its name is of the suite and the
        minute, so who makes it again meets it."""
        suite, now = sight.suite, sight.now
        spec = suite.spec.schedule
        if spec is None:
            return _Turn()
        state = schedule.observed(spec, suite.status.schedule, now)
        if problem := schedule.problem_of(spec, now):
            return _Turn(state.evolve(next=None, message=problem.message), problem)
        moment = schedule.due(spec, state, now)
        turn = _Turn(state.evolve(message=None))
        if moment is not None:
            turn = await self._serve(sight, status, state, moment)
        assert turn.state is not None  # noqa: S101 - there is a schedule
        following = schedule.coming(spec, turn.state, now)
        held = now + _HELD if turn.state.message else None
        return replace(turn, state=turn.state.evolve(next=following), wake_at=earliest(following, held))

    async def _serve(
        self, sight: _Sight, status: EvalSuiteStatus, state: ScheduleStatus, moment: datetime
    ) -> _Turn:
        suite, facts = sight.suite, sight.facts
        body = made(suite, moment)
        name = body["metadata"]["name"]
        at = moment.strftime("%Y-%m-%dT%H:%MZ")
        if running := under_way(sight.runs, suite.metadata.uid):
            if running != name:
                return _Turn(state.evolve(message=f"the run of {at} waits for the end of {running}"))
        elif isinstance(facts, Problem):
            return _Turn(state.evolve(message=f"the run of {at} waits for the suite: {facts.message}"))
        elif status.ledger and (full := budget.exceeded(suite.spec, status.ledger, body)):
            return _Turn(state.evolve(message=f"the run of {at} is not made: {full.message}"))
        try:
            await self._world.kube.create(RUNS, sight.key.namespace, body)
        except AlreadyExistsError:
            there = await self._world.kube.get(RUNS, sight.key.namespace, name)
            if not owned(there, suite.metadata.uid):
                text = f"the run of {at} is not made: an EvalRun {name} exists and is not ours: delete it"
                return _Turn(state.evolve(message=text))
        except RefusedError as refused:
            text = f"the API server refuses the run of {at} (a quota, an admission policy): {refused.message}"
            return _Turn(state.evolve(message=text))
        return _Turn(state.evolve(last_scheduled=moment, last_run=name, message=None))

    async def _tidy(self, sight: _Sight, status: EvalSuiteStatus) -> None:
        """Runs that no component answers for, those of schedules and of people, go when newer ones have ended, and
        never before the ledger has counted them."""
        loose = (history.finished_body(run) for run in sight.runs if not history.owned_by_component(run))
        kept = budget.reserved(status.ledger)
        for run in history.surplus(loose, sight.suite.spec.history_limits, kept=kept):
            try:
                await self._world.kube.delete(RUNS, sight.key.namespace, run.name, uid=run.uid)
            except (NotFoundError, ConflictError):
                continue
