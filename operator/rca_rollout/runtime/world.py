"""What every reconciler needs: the API port, the watched objects, the clock, the settings, and where to report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rca_rollout.api.parse import InvalidSpec, parse
from rca_rollout.api.reasons import Reason
from rca_rollout.api.suite import EvalSuite
from rca_rollout.core.problem import Problem
from rca_rollout.core.suites import SuiteFacts, resolve_suite, with_ledger
from rca_rollout.kube.client import Kube
from rca_rollout.kube.errors import ConflictError, NotFoundError
from rca_rollout.kube.resources import CONFIGMAPS, SUITES, Resource
from rca_rollout.metrics.counters import Counters
from rca_rollout.runtime.cache import Cache
from rca_rollout.runtime.settings import Settings


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class World:
    """Everything impure, in one place, so that a test can put its own in."""

    kube: Kube
    cache: Cache
    settings: Settings
    counters: Counters
    clock: Callable[[], datetime] = utc_now

    async def config_map(self, namespace: str, name: str) -> dict[str, Any] | None:
        try:
            return await self.kube.get(CONFIGMAPS, namespace, name)
        except NotFoundError:
            return None

    async def suite(self, namespace: str, name: str) -> SuiteFacts | Problem:
        """The suite as it stands now, with its dataset and baseline read and parsed."""
        try:
            body = await self.kube.get(SUITES, namespace, name)
        except NotFoundError:
            return Problem(
                Reason.SUITE_NOT_FOUND, f"EvalSuite {name} does not exist in namespace {namespace}: create it"
            )
        return await self.resolve(namespace, name, body)

    async def resolve(self, namespace: str, name: str, body: dict[str, Any]) -> SuiteFacts | Problem:
        suite = parse(EvalSuite, body)
        if isinstance(suite, InvalidSpec):
            return Problem(Reason.INVALID_SPEC, f"EvalSuite {name}: {suite.message}", stalled=True)
        spec = suite.spec
        dataset = await self.config_map(namespace, spec.dataset.config_map_ref.name)
        same = spec.baseline.config_map_ref.name == spec.dataset.config_map_ref.name
        baseline = dataset if same else await self.config_map(namespace, spec.baseline.config_map_ref.name)
        found = resolve_suite(name, spec, dataset, baseline, self.settings.harness_image)
        return with_ledger(found, suite.status.ledger)

    async def write_status(self, resource: Resource, body: dict[str, Any], status: dict[str, Any]) -> bool:
        """Writes `status` if it differs, to exactly the version that was read. Raises `ConflictError` if that is gone."""
        if (body.get("status") or {}) == status:
            return False
        metadata = body["metadata"]
        fresh = {**body, "status": status}
        try:
            await self.kube.replace_status(resource, metadata["namespace"], metadata["name"], fresh)
        except NotFoundError:
            return False
        except ConflictError:
            self.counters.conflicts.labels(metadata["namespace"], "status").inc()
            raise
        return True
