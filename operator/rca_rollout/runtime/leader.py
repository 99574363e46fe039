"""The Lease, and the clock, around the rules of `core.election`.

Every request of the operator that changes something goes past `Elector.guard`. Who loses the Lease ends: with the
process goes all that it had planned, and the kubelet starts one that knows nothing and stands by.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from rca_rollout.core.election import (
    Answer,
    Candidate,
    Failed,
    Found,
    Lost,
    Missing,
    Moved,
    Read,
    Wait,
    Write,
    Written,
    learn,
    plan,
    release,
)
from rca_rollout.core.lease import Identity, Pace, Record
from rca_rollout.kube.client import Kube
from rca_rollout.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    KubeError,
    NotFoundError,
    NotLeaderError,
    RefusedError,
)
from rca_rollout.kube.resources import LEASES
from rca_rollout.metrics.counters import Counters
from rca_rollout.runtime.lease_place import LeasePlace, steady

log = logging.getLogger("rca_rollout.leader")


class LeaseError(RuntimeError):
    """Why this process cannot go on; a sentence for people."""


class LeadershipLostError(LeaseError):
    """Another may lead from now on."""


class LeaseRefusedError(LeaseError):
    """The API server does not let us use the Lease; the message says what to grant."""


class Elector:
    """One process' part in the election. `kube` is a port of its own: the Lease must not queue behind other requests."""

    def __init__(
        self,
        kube: Kube,
        place: LeasePlace,
        me: Identity,
        counters: Counters,
        *,
        wall: Callable[[], datetime],
        steady: Callable[[], float] = steady,
        pace: Pace | None = None,
    ) -> None:
        self._kube, self._place, self._counters = kube, place, counters
        self._wall, self._steady = wall, steady
        self._state = Candidate(me, pace or Pace())
        self._told: str | None = None
        self._body: dict[str, Any] = {}
        counters.leader.set_function(lambda: float(self.leads()))

    def leads(self) -> bool:
        return self._state.leads(self._steady())

    def guard(self) -> float:
        """Seconds that a write which is sent now may take. Raises `NotLeaderError` where none may be sent."""
        left = self._state.seconds_for_a_write(self._steady())
        if left <= 0:
            raise NotLeaderError(0, "not sent: this process does not lead, or not for certain any more")
        return left

    async def check(self) -> None:
        """May we use the Lease? Found out before it matters: a standby that may only read would learn it when the
        leader is gone. Raises `LeaseRefusedError`; trouble of any other kind is for `run` to deal with."""
        namespace, name = self._place.namespace, self._place.name
        body = self._object(Record.first(self._state.me, self._state.pace, self._wall()))
        try:
            body = await self._kube.get(LEASES, namespace, name)
        except NotFoundError:
            pass
        except RefusedError as problem:
            raise self._refused(problem) from problem
        except KubeError:
            return
        try:
            if "resourceVersion" in body["metadata"]:
                await self._kube.replace(LEASES, namespace, name, body, dry_run=True)
            else:
                await self._kube.create(LEASES, namespace, body, dry_run=True)
        except (RefusedError, NotFoundError) as problem:
            raise self._refused(problem) from problem
        except KubeError:
            return

    async def run(self, stop: asyncio.Event, drained: asyncio.Event, lead: Callable[[], None]) -> None:
        """Stands by, calls `lead` once, renews until `drained` and gives the Lease back; as a candidate, until `stop`.

        Raises `LeadershipLostError`, and `LeaseRefusedError` where the Lease cannot be used.
        """
        leading = False
        while True:
            if leading and drained.is_set():
                await self._release()
                return
            if not leading and stop.is_set():
                return
            self._state, effect = plan(self._state, self._steady(), self._wall())
            match effect:
                case Lost(why=why):
                    raise LeadershipLostError(f"the leadership is lost: {why}")
                case Wait(until=until):
                    await _either(drained if leading else stop, until - self._steady())
                case Read() | Write():
                    await self._do(effect)
            if not leading and self.leads():
                leading = True
                lead()

    async def _do(self, effect: Read | Write) -> None:
        try:
            async with asyncio.timeout(effect.within):
                answer = await (self._read() if isinstance(effect, Read) else self._write(effect))
        except TimeoutError:
            answer = Failed(f"no answer about the Lease in {effect.within:.0f} s")
        except KubeError as problem:
            refused = isinstance(problem, RefusedError | NotFoundError)
            if refused and self._state.led is None:
                raise self._refused(problem) from problem
            answer = Failed(str(problem))
        if isinstance(answer, Failed):
            self._counters.lease_errors.inc()
            if not self._state.trouble:
                log.warning("%s: tried again: %s", self._title, answer.why)
        self._state = learn(self._state, answer, self._steady())
        if not isinstance(answer, Failed | Moved):
            self._tell()

    async def _read(self) -> Answer:
        try:
            self._body = await self._kube.get(LEASES, self._place.namespace, self._place.name)
        except NotFoundError:
            self._body = {}
            return Missing()
        return Found(Record.of(self._body.get("spec")), self._version())

    async def _write(self, write: Write) -> Answer:
        namespace, name = self._place.namespace, self._place.name
        body = self._object(write.record)
        try:
            if write.version:
                self._body = await self._kube.replace(LEASES, namespace, name, body)
            else:
                self._body = await self._kube.create(LEASES, namespace, body)
        except (AlreadyExistsError, ConflictError):
            return Moved()
        except NotFoundError:
            if write.version:
                return Moved()
            raise
        return Written(self._version())

    async def _release(self) -> None:
        """Failing here costs the next leader a few seconds, and nothing else."""
        if not self._state.fresh:
            await self._do(Read(self._state.pace.request))
        write = release(self._state, self._wall())
        if write is None or not self.leads():
            return
        try:
            async with asyncio.timeout(write.within):
                await self._write(write)
        except (KubeError, TimeoutError) as problem:
            log.warning("%s: not given back, it will run out: %s", self._title, problem)
        else:
            log.info("%s: given back", self._title)

    def _object(self, record: Record) -> dict[str, Any]:
        """The Lease with this record, and all else as it was read: labels are somebody's."""
        made = {"apiVersion": LEASES.api_version, "kind": LEASES.kind}
        metadata = self._body.get("metadata") or {
            "name": self._place.name,
            "namespace": self._place.namespace,
        }
        kept = {key: value for key, value in metadata.items() if key != "managedFields"}
        return {**made, "metadata": kept, "spec": record.spec()}

    def _version(self) -> str:
        return str(self._body["metadata"]["resourceVersion"])

    @property
    def _title(self) -> str:
        return f"Lease {self._place.namespace}/{self._place.name}"

    def _tell(self) -> None:
        """One line for each change of who leads."""
        holder = self._state.holder
        if holder == self._told:
            return
        before, self._told = self._told, holder
        if self._state.led is not None:
            number = (
                self._state.view.record.transitions if self._state.view and self._state.view.record else 0
            )
            log.info("%s: this process leads, as %s (term %d)", self._title, holder, number)
        elif holder:
            log.info("%s: standing by, %s leads", self._title, holder)
        elif before:
            log.info("%s: given back by %s", self._title, before)

    def _refused(self, problem: KubeError) -> LeaseRefusedError:
        place = self._place
        return LeaseRefusedError(
            f"the Lease {place.name} in namespace {place.namespace}, by which one operator of several leads, cannot be "
            f"used: {problem.message}; grant this account get and update on it and create on leases there "
            "(templates/rbac.yaml of the chart has the Role)"
        )


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Returns when `event` is set, or after so many seconds."""
    try:
        await asyncio.wait_for(event.wait(), max(0.0, seconds))
    except TimeoutError:
        return
