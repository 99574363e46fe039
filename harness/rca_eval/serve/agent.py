"""The agent: alerts in, conclusions out. What the routes call, free of HTTP but for its problems."""

import hashlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from rca_eval.contract import ContractError, EngineIncident, Reason
from rca_eval.graph import GraphStore
from rca_eval.kpis import LifecycleStore, Moment
from rca_eval.modes import DecisionLog, ModeFile
from rca_eval.serve.alertmanager import AlertNotice
from rca_eval.serve.context import NoContextError, Source
from rca_eval.serve.desk import BusyError, Desk, LateError
from rca_eval.serve.investigation import Investigation, Investigator
from rca_eval.serve.lifecycles import Lifecycles
from rca_eval.serve.lines import Lines
from rca_eval.serve.metrics import AgentMetrics, Ended
from rca_eval.serve.problems import ProblemError
from rca_eval.serve.resource import Resource
from rca_eval.serve.settings import Limits


class Agent:
    """All parts, for one event loop. `graphs` and `database` may open later."""

    def __init__(
        self,
        *,
        modes: ModeFile,
        source: Source,
        graphs: Resource[GraphStore],
        database: Resource[LifecycleStore],
        lines: Lines,
        limits: Limits,
    ) -> None:
        self.modes = modes
        self.source = source
        self.graphs = graphs
        self.database = database
        self.lines = lines
        self.limits = limits
        self.metrics = AgentMetrics(modes)
        self.desk = Desk(limits)
        self.lifecycles = Lifecycles(database, lines)
        self._investigator = Investigator(modes, DecisionLog(lines.write, self.metrics.modes))

    async def take(self, alert: AlertNotice, request_id: str) -> dict[str, Any]:
        """What became of one alert of a notification. Raises `ProblemError` for what a repetition may mend."""
        now = datetime.now(UTC)
        answer: dict[str, Any] = {
            "incidentId": alert.incident_id,
            "alert": alert.name,
            "service": alert.service,
        }
        if alert.status == "resolved":
            recorded = await self.lifecycles.tell(alert, Moment.RESOLVED, alert.ended or now)
            return {**answer, "outcome": "Resolved", "lifecycle": recorded}
        recorded = await self.lifecycles.tell(alert, Moment.DETECTED, now)
        answer["lifecycle"] = recorded
        try:
            incident = self.source.context(alert)
        except NoContextError as error:
            self.metrics.ended.labels(Ended.UNKNOWN.value).inc()
            return {**answer, "outcome": "Unknown", "reason": str(error)}

        async def investigate() -> Investigation:
            found = await self._investigate(incident, alert.incident_id, request_id, self.source.name)
            answer["lifecycle"] = await self.lifecycles.tell(alert, Moment.CONCLUDED, found.ended)
            return found

        try:
            found, is_new = await self.desk.once(alert.incident_id, investigate)
        except ProblemError as problem:
            if problem.status in {429, 503}:
                raise ProblemError(
                    503, problem.reason, problem.detail
                ) from None  # Alertmanager repeats no 429
            return {**answer, "outcome": "Failed", "reason": problem.detail}
        return {**answer, "outcome": "Concluded" if is_new else "Duplicate", "investigation": found.plain()}

    async def investigate(self, incident: EngineIncident, request_id: str) -> Investigation:
        """One incident with its context. Raises `ProblemError`."""
        digest = hashlib.sha256(incident.model_dump_json().encode()).hexdigest()
        found = await self._investigate(incident, f"inc-{digest[:16]}", request_id, "request")
        self.desk.keep(found)
        return found

    async def _investigate(
        self, incident: EngineIncident, incident_id: str, request_id: str, source: str
    ) -> Investigation:
        store = self.graphs.value()
        if store is None:
            raise ProblemError(
                503, Reason.STORE_UNAVAILABLE.value, f"the graph store is not ready: {self.graphs.problem()}"
            )
        began = time.perf_counter()

        def call() -> Investigation:
            return self._investigator.investigate(
                store, incident, incident_id=incident_id, request_id=request_id, source=source
            )

        try:
            found = await self._run(call, request_id)
        except ProblemError as problem:
            ended = {429: Ended.BUSY, 504: Ended.TIMEOUT}.get(problem.status, Ended.FAILED)
            self.metrics.ended.labels(ended.value).inc()
            raise
        self.metrics.ended.labels(Ended.CONCLUDED.value).inc()
        self.metrics.seconds.observe(time.perf_counter() - began)
        return found

    async def _run(self, call: Callable[[], Investigation], request_id: str) -> Investigation:
        try:
            return await self.desk.run(call)
        except BusyError:
            taken = self.limits.workers + self.limits.queue
            raise ProblemError(
                429,
                "Busy",
                f"{taken} investigations are under way or waiting, as many as may; ask again later.",
            ) from None
        except LateError:
            raise ProblemError(
                504,
                "InvestigationTimeout",
                f"no conclusion within {self.limits.seconds:g} s; ask again later.",
            ) from None
        except ContractError as error:
            raise ProblemError(503, error.reason.value, error.message) from None
        except Exception as error:
            text = f"{type(error).__name__}: {error}"[:300]
            self.lines.event("engineFailed", requestId=request_id, error=text)
            raise ProblemError(
                500,
                Reason.ENGINE_FAILED.value,
                f"the engine failed; the agent's log tells more under the request id {request_id}.",
            ) from None
