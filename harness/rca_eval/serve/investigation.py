"""One investigation: the engine asked under the modes in force, and what it answered, told in full."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from rca_eval.contract import ContractError, EngineIncident, Prediction, Run
from rca_eval.engine import KEYS, NAME, Blend, answer
from rca_eval.graph import GraphStore, graph_key
from rca_eval.kpis import rfc3339
from rca_eval.modes import Decision, DecisionLog, Mode, ModeFile, Outcome, Reading

Engine = Callable[[Run, EngineIncident, Any, Blend], Prediction]


@dataclass(frozen=True)
class Component:
    """What a component did: it governed, or it would have ranked `would_be`."""

    reading: Reading
    governed: bool
    would_be: tuple[str, ...] | None
    agrees: bool | None
    error: str | None = None

    def plain(self) -> dict[str, Any]:
        return {
            "component": self.reading.component,
            "mode": self.reading.mode.value,
            "governed": self.governed,
            "wouldBe": list(self.would_be) if self.would_be is not None else None,
            "agrees": self.agrees,
            "error": self.error,
        }


@dataclass(frozen=True)
class Investigation:
    """A conclusion. It is advice: nothing is done with it here."""

    id: str
    incident_id: str
    request_id: str
    source: str
    incident: EngineIncident
    began: datetime
    ended: datetime
    prediction: Prediction
    components: tuple[Component, ...]

    def plain(self) -> dict[str, Any]:
        found, alert = self.prediction, self.incident.alert
        return {
            "id": self.id,
            "incidentId": self.incident_id,
            "requestId": self.request_id,
            "advisory": True,
            "engine": NAME,
            "source": self.source,
            "alert": {"name": alert.name, "service": alert.service, "firedAt": _time(alert.fired_at)},
            "onset": _time(alert.onset),
            "startedAt": rfc3339(self.began),
            "concludedAt": rfc3339(self.ended),
            "seconds": f"{found.seconds:f}",
            "table": found.table,
            "decision": found.decision,
            "evidence": list(found.evidence),
            "candidates": [
                {
                    "rank": rank,
                    "entity": one.entity,
                    "score": None if one.score is None else f"{one.score:f}",
                    "terms": {term: f"{value:f}" for term, value in (one.terms or {}).items()},
                }
                for rank, one in enumerate(found.candidates, start=1)
            ],
            "modes": [one.reading.plain() for one in self.components],
            "components": [one.plain() for one in self.components],
        }

    def summary(self) -> dict[str, Any]:
        best = self.prediction.candidates[:1]
        return {
            "id": self.id,
            "incidentId": self.incident_id,
            "alert": self.incident.alert.name,
            "service": self.incident.alert.service,
            "concludedAt": rfc3339(self.ended),
            "first": best[0].entity if best else None,
        }


class Investigator:
    """Blocking; safe to use from threads, as each investigation has a graph of its own."""

    def __init__(
        self, modes: ModeFile, log: DecisionLog, *, blend: Blend | None = None, engine: Engine = answer
    ) -> None:
        self._modes = modes
        self._log = log
        self._blend = blend or Blend()
        self._engine = engine

    def investigate(
        self, store: GraphStore, incident: EngineIncident, *, incident_id: str, request_id: str, source: str
    ) -> Investigation:
        """Raises `ContractError(StoreUnavailable)`, and what the engine raises with everything in Shadow."""
        began = datetime.now(UTC)
        readings = self._modes.look(KEYS)  # anew for each one: a switch counts from the next answer on
        name = os.urandom(8).hex()
        with store.incident(graph_key(f"agent-{name}", "LivePath"), incident) as graph:

            def ask(modes: Mapping[str, str]) -> Prediction:
                at = time.perf_counter()
                run = Run(
                    variant="With",
                    arm="LivePath",
                    case=incident.case,
                    modes=dict(modes),
                    incident=f"LivePath/{incident.case}.json",
                )
                found = self._engine(run, incident, graph, self._blend)
                return found.model_copy(update={"seconds": _seconds(time.perf_counter() - at)})

            prediction, failure = self._governed(ask, readings)
        components = tuple(_component(one, prediction, failure) for one in readings)
        for one in components:
            self._tell(one, prediction, incident_id)
        return Investigation(
            id=f"inv-{name}",
            incident_id=incident_id,
            request_id=request_id,
            source=source,
            incident=incident,
            began=began,
            ended=datetime.now(UTC),
            prediction=prediction,
            components=components,
        )

    def _governed(
        self, ask: Callable[[Mapping[str, str]], Prediction], readings: list[Reading]
    ) -> tuple[Prediction, str | None]:
        """The answer; if it fails while something is Active, the answer of the legacy path, and the failure."""
        modes = {one.component: one.mode.value for one in readings}
        try:
            return ask(modes), None
        except ContractError:
            raise  # the store's, not a component's
        except Exception as error:
            if Mode.ACTIVE not in modes.values():
                raise
            failure = f"{type(error).__name__}: {error}"
            return ask(dict.fromkeys(modes, Mode.SHADOW.value)), failure

    def _tell(self, one: Component, prediction: Prediction, incident_id: str) -> None:
        mode, failed = one.reading.mode, one.error is not None
        if mode is Mode.ACTIVE and not failed:
            return
        if mode is Mode.SHADOW and one.would_be is None:
            return  # an engine that does not know this component
        outcome = Outcome.ERROR if failed else Outcome.AGREE if one.agrees else Outcome.DISAGREE
        self._log.tell(
            Decision(
                component=one.reading.component,
                mode=mode,
                outcome=outcome,
                governing=_keys(prediction),
                would_be=one.would_be if mode is Mode.SHADOW else None,
                seconds=float(prediction.seconds),
                incident=incident_id,
                error=one.error,
            )
        )


def _component(reading: Reading, prediction: Prediction, failure: str | None) -> Component:
    if reading.mode is Mode.ACTIVE:
        return Component(reading, governed=failure is None, would_be=None, agrees=None, error=failure)
    logged = prediction.would_be
    would_be = logged.get(reading.component) if isinstance(logged, Mapping) else None
    agrees = None if would_be is None else tuple(would_be) == tuple(_keys(prediction))
    return Component(reading, governed=False, would_be=would_be, agrees=agrees)


def _keys(prediction: Prediction) -> list[str]:
    return [one.entity for one in prediction.candidates]


def _seconds(value: float) -> Decimal:
    return Decimal(round(value * 10**9)).scaleb(-9)


def _time(unix: int) -> str:
    return rfc3339(datetime.fromtimestamp(unix, UTC))
