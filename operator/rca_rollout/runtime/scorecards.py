"""Where a run's scorecard is read: from the ConfigMaps that keep it, or else from the logs of its containers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from rca_eval.contract.part import ScorecardPart
from rca_eval.contract.sharing import Pool
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run import EvalRun
from rca_rollout.core.names import part_name, scorecard_name
from rca_rollout.core.parts import (
    Lost,
    PartReading,
    Unindexed,
    check_index,
    kept_part,
    merged,
    part_from_log,
    part_from_store,
)
from rca_rollout.core.pods import SCORECARD, Succeeded, finished_at
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import Reading, announced_digest, from_log, from_store
from rca_rollout.core.runs import RunSnapshot
from rca_rollout.core.shards import Collected, Collecting, shard_name
from rca_rollout.kube.errors import KubeError, NotFoundError, TransientError
from rca_rollout.runtime.world import World

# The compressed cap is 700 KiB; base64 and the frame make 956 KiB of it. Whatever is longer is not ours.
LOG_LIMIT = 1024 * 1024
# Bytes of a log that are read at once: a thread would take longer than that.
SMALL = 64 * 1024
# A node that is gone keeps its finished Pods for hours, and with them the suite's turn.
_LOG_PATIENCE = timedelta(minutes=5)


class Scorecards:
    """Reads what the next step of a run needs, and no more: one document, or for the verdict all parts."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def read(
        self, snapshot: RunSnapshot, outcome: Succeeded | Collecting | Collected, *, again: bool = False
    ) -> RunSnapshot:
        """The snapshot with what was read. `again`: it may well be stored already. Raises `TransientError` where it may be there a moment later."""
        match outcome:
            case Succeeded(pod=pod):
                return replace(snapshot, reading=await self._whole(snapshot.run, pod, again=again))
            case Collecting():
                return replace(snapshot, part=await self._part(snapshot.run, outcome))
        found = await self._merged(snapshot.run)
        if isinstance(found, Reading):
            return replace(snapshot, reading=found)
        return replace(snapshot, part=found)

    async def stored(self, run: EvalRun, pod: Mapping[str, Any]) -> Reading | Problem | None:
        """What an earlier look has stored, None where there is nothing."""
        announced = announced_digest(pod)
        if isinstance(announced, Problem):
            return announced
        stored = await self._world.config_map(run.metadata.namespace, scorecard_name(run.metadata.name))
        return None if stored is None else await asyncio.to_thread(from_store, run, stored, announced)

    async def _whole(self, run: EvalRun, pod: Mapping[str, Any], *, again: bool) -> Reading | Problem:
        """The scorecard of one piece, from the log, or from where it is stored when the log is gone."""
        announced = announced_digest(pod)
        if isinstance(announced, Problem):
            return announced
        if again and (kept := await self.stored(run, pod)) is not None:
            return kept
        try:
            raw = await self._log(run, pod)
        except TransientError:
            if (kept := await self.stored(run, pod)) is not None:
                return kept
            raise
        if isinstance(raw, Problem):
            return await self.stored(run, pod) or raw
        if len(raw) <= SMALL:
            return from_log(run, raw, announced)
        return await asyncio.to_thread(from_log, run, raw, announced)

    async def _part(self, run: EvalRun, outcome: Collecting) -> PartReading | Problem:
        """The part of one shard: of the first whose log can be read now."""
        failure: TransientError | None = None
        for index, ended in outcome.ready:
            try:
                return await self._part_of(run, index, ended.pod)
            except TransientError as problem:
                failure = failure or problem
        assert failure is not None  # noqa: S101 - there is one ready, or it would be another outcome
        raise failure

    async def _part_of(self, run: EvalRun, index: int, pod: Mapping[str, Any]) -> PartReading | Problem:
        announced = announced_digest(pod)
        if isinstance(announced, Problem):
            return _named(run, index, announced)
        name = part_name(run.metadata.name, run.status.attempts, index)
        stored = await self._world.config_map(run.metadata.namespace, name)
        if stored is not None:
            return await asyncio.to_thread(kept_part, run, index, announced, stored)
        raw = await self._log(run, pod)
        if isinstance(raw, Problem):
            return _named(run, index, raw)
        return await asyncio.to_thread(part_from_log, run, index, raw, announced)

    async def _merged(self, run: EvalRun) -> Reading | Problem | Lost | Unindexed:
        """The whole, from its parts; one ConfigMap after the other, so that no more than one is here packed."""
        namespace = run.metadata.namespace
        index = await self._world.config_map(namespace, scorecard_name(run.metadata.name))
        if index is None:
            return Unindexed()
        if problem := check_index(run, index):
            return problem
        parts, pool = list[ScorecardPart](), Pool()
        for shard in run.status.shards:
            name = part_name(run.metadata.name, run.status.attempts, shard.index)
            stored = await self._world.config_map(namespace, name)
            part = await asyncio.to_thread(part_from_store, run, shard, stored)
            if not isinstance(part, ScorecardPart):
                return part
            parts.append(await asyncio.to_thread(pool.share, part))
        return await asyncio.to_thread(merged, run, parts)

    async def _log(self, run: EvalRun, pod: Mapping[str, Any]) -> bytes | Problem:
        try:
            return await self._world.kube.pod_log(
                run.metadata.namespace, pod["metadata"]["name"], SCORECARD, limit_bytes=LOG_LIMIT
            )
        except NotFoundError:
            return Problem(
                Reason.JOB_LOST, "the Pod was gone before its log was read: the evaluation is tried again"
            )
        except KubeError as problem:
            ended = finished_at(pod)
            patient = ended is None or self._world.clock() < ended + _LOG_PATIENCE
            if isinstance(problem, TransientError) and patient:
                raise
            return Problem(
                Reason.LOG_UNAVAILABLE,
                f"the scorecard's log cannot be read (is the node there?): {problem.message}; "
                "the evaluation is tried again",
            )


def _named(run: EvalRun, index: int, problem: Problem) -> Problem:
    count = (run.status.inputs.shards if run.status.inputs else None) or 1
    # For the Job a shard whose Pod has gone after its end has ended well: it makes no other Pod of it.
    reason = Reason.SHARD_MISSING if problem.reason == Reason.JOB_LOST else problem.reason
    return Problem(reason, f"{shard_name(index, count)}: {problem.message}")
