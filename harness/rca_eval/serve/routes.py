"""The routes; docs/agent-protocol.md describes them."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rca_eval.contract import ContractError, Reason, load_json, parse_incident, shown
from rca_eval.engine import KEYS
from rca_eval.kpis import LifecycleStore, Moment, Noted, parse_time, rfc3339
from rca_eval.serve.agent import Agent
from rca_eval.serve.alertmanager import parse_notification
from rca_eval.serve.metrics import CONTENT_TYPE
from rca_eval.serve.problems import ProblemError
from rca_eval.serve.resource import Resource

CLASS_LIMIT = 253


class Routes:
    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def all(self) -> list[Route]:
        return [
            Route("/v1/alerts", self.alerts, methods=["POST"]),
            Route("/v1/investigations", self.investigate, methods=["POST"]),
            Route("/v1/investigations", self.investigations, methods=["GET"]),
            Route("/v1/investigations/{id}", self.investigation, methods=["GET"]),
            Route("/v1/incidents/{id}", self.incident, methods=["GET"]),
            Route("/v1/incidents/{id}/acknowledged", self.acknowledged, methods=["POST"]),
            Route("/v1/incidents/{id}/resolved", self.resolved, methods=["POST"]),
            Route("/modes", self.modes, methods=["GET"]),
            Route("/kpis", self.kpis, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
            Route("/healthz", self.healthz, methods=["GET"]),
            Route("/readyz", self.readyz, methods=["GET"]),
        ]

    async def alerts(self, request: Request) -> Response:
        limits = self._agent.limits
        notices = parse_notification(await request.body(), limit=limits.body_bytes, most=limits.alerts)
        answers = [await self._agent.take(one, _request_id(request)) for one in notices]
        return _json({"requestId": _request_id(request), "alerts": answers})

    async def investigate(self, request: Request) -> Response:
        incident = parse_incident(await request.body(), source="the incident")
        found = await self._agent.investigate(incident, _request_id(request))
        return _json(found.plain())

    async def investigations(self, _request: Request) -> Response:
        return _json({"investigations": [one.summary() for one in self._agent.desk.newest()]})

    async def investigation(self, request: Request) -> Response:
        found = self._agent.desk.get(request.path_params["id"])
        if found is None:
            raise _no(
                "investigation", request.path_params["id"], f"the last {self._agent.limits.kept} are kept"
            )
        return _json(found.plain())

    async def incident(self, request: Request) -> Response:
        id = request.path_params["id"]
        found = await asyncio.to_thread(self._lifecycles().get, id)
        if found is None:
            raise _no("incident", id, "an alert that fires makes it known")
        return _json(found.plain())

    async def acknowledged(self, request: Request) -> Response:
        return await self._note(request, Moment.ACKNOWLEDGED)

    async def resolved(self, request: Request) -> Response:
        return await self._note(request, Moment.RESOLVED)

    async def _note(self, request: Request, moment: Moment) -> Response:
        id = request.path_params["id"]
        at, fault_class = _body(await request.body(), self._agent.limits.body_bytes)
        store = self._lifecycles()
        return _json(await asyncio.to_thread(_write, store, id, moment, at, fault_class))

    async def modes(self, _request: Request) -> Response:
        readings = await asyncio.to_thread(self._agent.modes.look, KEYS)
        return _json([one.plain() for one in readings])

    async def kpis(self, request: Request) -> Response:
        query = request.query_params
        for name in query:
            if name not in {"since", "until", "class"}:
                raise ProblemError(
                    400,
                    Reason.USAGE.value,
                    f"the parameter {shown(name)} is unknown; there are since, until, class.",
                )
        times = {name: parse_time(query[name], source=name) for name in ("since", "until") if query.get(name)}
        store = self._lifecycles()
        report = await asyncio.to_thread(
            lambda: store.kpis(
                since=times.get("since"), until=times.get("until"), fault_class=query.get("class") or None
            )
        )
        return _json(report.plain())

    async def metrics(self, _request: Request) -> Response:
        text = await asyncio.to_thread(self._agent.metrics.text)
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    async def healthz(self, _request: Request) -> Response:
        return _json({"status": "ok"})

    async def readyz(self, _request: Request) -> Response:
        parts: tuple[Resource[Any], ...] = (self._agent.graphs, self._agent.database)
        ready = await asyncio.gather(*(part.is_ready() for part in parts))
        if not all(ready):
            bad = "; ".join(
                f"{part.name}: {part.problem()}" for part, good in zip(parts, ready, strict=True) if not good
            )
            raise ProblemError(503, "NotReady", bad)
        return _json({"status": "ready"})

    def _lifecycles(self) -> LifecycleStore:
        store = self._agent.database.value()
        if store is None:
            text = f"the database of incidents is not ready: {self._agent.database.problem()}"
            raise ProblemError(503, Reason.DATABASE_UNAVAILABLE.value, text)
        return store


def _write(
    store: LifecycleStore, id: str, moment: Moment, at: datetime | None, fault_class: str | None
) -> dict[str, Any]:
    if store.get(id) is None:
        raise _no("incident", id, "an alert that fires makes it known")
    answer = store.note(id, moment, at or datetime.now(UTC))
    if answer.noted is Noted.KEPT and at is not None:
        raise ContractError(
            Reason.LIFECYCLE_REFUSED,
            f"the incident {id} was {moment.value} at {rfc3339(answer.at)} already; that stays.",
        )
    if fault_class is not None:
        store.classify(id, fault_class)
    found = store.get(id)
    return {"noted": answer.noted.value, **(found.plain() if found else {})}


def _body(data: bytes, limit: int) -> tuple[datetime | None, str | None]:
    """`{"at"?: time, "class"?: fault class}`, or nothing at all."""
    if not data.strip():
        return None, None
    value = load_json(data, source="the body", reason=Reason.USAGE, limit=limit)
    if not isinstance(value, Mapping) or not set(value) <= {"at", "class"}:
        raise ContractError(Reason.USAGE, 'the body may be empty, or {"at": time, "class": fault class}.')
    at, fault_class = value.get("at"), value.get("class")
    if not isinstance(at, str | None) or not isinstance(fault_class, str | None) or fault_class == "":
        raise ContractError(Reason.USAGE, "at and class are texts; correct them or leave them out.")
    if fault_class is not None and (len(fault_class) > CLASS_LIMIT or not fault_class.isprintable()):
        raise ContractError(
            Reason.USAGE, f"class is {shown(fault_class)}; write at most 253 printable characters."
        )
    return parse_time(at, source="at") if at else None, fault_class


def _request_id(request: Request) -> str:
    return str(request.scope["state"]["request_id"])


def _json(value: Any) -> Response:
    return JSONResponse(value, headers={"Cache-Control": "no-store"})


def _no(what: str, id: str, more: str) -> ProblemError:
    return ProblemError(404, "NotFound", f"there is no {what} {shown(id)}; {more}.")
