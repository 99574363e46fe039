"""Reconciles one EvalSuite: says whether it can be used. Its components and runs read it themselves."""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.parse import InvalidSpec, parse
from rca_rollout.api.suite import EvalSuite, EvalSuiteStatus
from rca_rollout.core.lifecycle.invalid import invalid_status
from rca_rollout.core.problem import Problem
from rca_rollout.core.suite_status import suite_status
from rca_rollout.kube.errors import NotFoundError
from rca_rollout.kube.resources import SUITES
from rca_rollout.runtime.queue import Key
from rca_rollout.runtime.world import World

# ConfigMaps that do not carry our watch label send no events: a missing or broken one is looked for again.
_POLL = timedelta(seconds=10)


class SuiteReconciler:
    def __init__(self, world: World) -> None:
        self._world = world

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
        facts = await world.resolve(key.namespace, key.name, body)
        await world.write_status(SUITES, body, suite_status(suite, facts, now).to_dict())
        return now + _POLL if isinstance(facts, Problem) else None
