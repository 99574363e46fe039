"""What every reconciler needs: the API port, the watched objects, the clock, the settings, and where to report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from rca_rollout.api.parse import InvalidSpec
from rca_rollout.api.reasons import Reason
from rca_rollout.api.suite import EvalSuite
from rca_rollout.core.problem import Problem
from rca_rollout.core.suites import SuiteFacts, with_ledger
from rca_rollout.kube.client import Kube
from rca_rollout.kube.errors import FORBIDDEN, ConflictError, NotFoundError, RefusedError
from rca_rollout.kube.resources import CONFIGMAPS, SUITES, Resource
from rca_rollout.metrics.counters import Counters
from rca_rollout.runtime.cache import Cache
from rca_rollout.runtime.facts import Facts
from rca_rollout.runtime.parsed import parsed
from rca_rollout.runtime.settings import Settings

_RECENT = 1.0  # seconds


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

    @cached_property
    def facts(self) -> Facts:
        return Facts(self.kube, self.settings.harness_image)

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
        except RefusedError as refused:
            return _unreadable(name, refused)
        return await self.resolve(body)

    async def resolve(self, body: Mapping[str, Any]) -> SuiteFacts | Problem:
        return await self._resolve(body, 0.0)

    async def recent_suite(self, namespace: str, name: str) -> SuiteFacts | Problem:
        """The suite as watched, with what it refers to as read a second ago or less: for the many looks of many runs."""
        body = self.cache.suite(namespace, name)
        return await (self.suite(namespace, name) if body is None else self._resolve(body, _RECENT))

    async def _resolve(self, body: Mapping[str, Any], max_age: float) -> SuiteFacts | Problem:
        suite = parsed(EvalSuite, body)
        if isinstance(suite, InvalidSpec):
            name = body["metadata"]["name"]
            return Problem(Reason.INVALID_SPEC, f"EvalSuite {name}: {suite.message}", stalled=True)
        try:
            found = await self.facts.of(suite, max_age=max_age)
        except RefusedError as refused:
            return _unreadable(suite.metadata.name, refused)
        return with_ledger(found, suite.status.ledger)

    async def write_status(self, resource: Resource, body: Mapping[str, Any], status: dict[str, Any]) -> bool:
        """Writes `status` if it differs, to exactly the version that was read. Raises `ConflictError` if that is gone."""
        return await self.put_status(resource, body, status) is not None

    async def put_status(
        self, resource: Resource, body: Mapping[str, Any], status: dict[str, Any]
    ) -> dict[str, Any] | None:
        """As `write_status`: the object as it stands then, None where nothing was written."""
        if (body.get("status") or {}) == status:
            return None
        metadata = body["metadata"]
        fresh = {**body, "status": status}
        try:
            return await self.kube.replace_status(resource, metadata["namespace"], metadata["name"], fresh)
        except NotFoundError:
            return None
        except ConflictError:
            self.counters.conflicts.labels(metadata["namespace"], "status").inc()
            raise


def _unreadable(name: str, refused: RefusedError) -> Problem:
    """A right that is missing here must not keep anybody from being put back to Shadow. Raises what is no such refusal."""
    if refused.status != FORBIDDEN:
        raise refused
    return Problem(
        Reason.SUITE_UNREADABLE,
        f"EvalSuite {name} or what it names may not be read: {refused.message}; the chart's role has the rights",
        stalled=True,
    )
