"""What happened to each run, and when, by the benchmark's own watches."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.scale.api import OURS, Api
from benchmarks.scale.stage import NAMESPACE
from rca_rollout.core.names import MANAGED_SELECTOR, RUN_LABEL

FINAL = ("Passed", "Failed", "Inconclusive", "Error", "Superseded", "Aborted")


@dataclass
class Ledger:
    """Monotonic seconds by the run's name; UIDs of all Jobs that were ever there."""

    completed: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, set[str]] = field(default_factory=dict)
    writes: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    async def keep(self, api: Api, listening: asyncio.Event) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._jobs(api))
            group.create_task(self._runs(api))
            await asyncio.sleep(0.5)
            listening.set()

    async def _jobs(self, api: Api) -> None:
        async for seen in api.watch(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", MANAGED_SELECTOR):
            metadata = seen.body["metadata"]
            run = metadata["labels"][RUN_LABEL]
            self.jobs.setdefault(run, set()).add(metadata["uid"])
            conditions = (seen.body.get("status") or {}).get("conditions") or []
            if any(c["type"] == "Complete" and c["status"] == "True" for c in conditions):
                self.completed.setdefault(run, seen.at)

    async def _runs(self, api: Api) -> None:
        async for seen in api.watch(f"/{OURS}/namespaces/{NAMESPACE}/evalruns"):
            run, status = seen.body["metadata"]["name"], seen.body.get("status") or {}
            if seen.kind == "MODIFIED":
                self.writes[run] = self.writes.get(run, 0) + 1
            if status.get("phase") in FINAL and run not in self.ended:
                self.ended[run], self.phases[run] = seen.at, status["phase"]
                self.reasons[run] = f"{status.get('reason')}: {status.get('message')}"

    def delays(self) -> list[float]:
        """Seconds from a Job's completion to its run's verdict. Negative where the verdict was seen first."""
        return [self.ended[run] - at for run, at in self.completed.items() if run in self.ended]

    def doubled(self) -> list[str]:
        """Runs that had more or less than one Job."""
        return [run for run in self.ended if len(self.jobs.get(run, ())) != 1]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
