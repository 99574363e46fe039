"""Hears the judge of a scheduled run: its last words into the run's status, what it wrote beside the scorecard.

Nothing that goes wrong here is more than a line in the log: the verdict does not wait for it.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import replace

from rca_rollout.core import judging
from rca_rollout.core.pods import Succeeded
from rca_rollout.core.pods.steps import JUDGE
from rca_rollout.core.readings import Reading
from rca_rollout.core.runs import RunSnapshot
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.kube.errors import AlreadyExistsError, KubeError
from rca_rollout.kube.resources import CONFIGMAPS
from rca_rollout.runtime.world import World

log = logging.getLogger("rca_rollout.opinions")


class Opinions:
    def __init__(self, world: World) -> None:
        self._world = world

    async def hear(self, snapshot: RunSnapshot, outcome: object) -> RunSnapshot:
        """The snapshot with the judge's last words, if there was a judge."""
        if not isinstance(outcome, Succeeded) or not isinstance(snapshot.suite, SuiteFacts):
            return snapshot
        said = judging.opinion(outcome.pod, snapshot.suite.spec.judge)
        if said is None:
            return snapshot
        if isinstance(snapshot.reading, Reading) and said.judged + said.skipped:
            try:
                await self._keep(snapshot, outcome, snapshot.reading)
            except KubeError as problem:
                log.warning("the judgement of %s is not kept: %s", snapshot.run.metadata.name, problem)
        return replace(snapshot, judge=said)

    async def _keep(self, snapshot: RunSnapshot, outcome: Succeeded, reading: Reading) -> None:
        run, kube = snapshot.run, self._world.kube
        namespace, pod = run.metadata.namespace, outcome.pod["metadata"]["name"]
        if await self._world.config_map(namespace, judging.judgement_name(run.metadata.name)) is not None:
            return
        text = await kube.pod_log(namespace, pod, JUDGE, limit_bytes=judging.LOG_LIMIT)
        body = judging.stored(run, text, reading.sha256)
        if body is not None:
            with contextlib.suppress(AlreadyExistsError):
                await kube.create(CONFIGMAPS, namespace, body)
