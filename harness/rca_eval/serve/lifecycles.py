"""What the agent writes into the record of incidents. The record may be away: an answer does not wait for it."""

import asyncio
from datetime import datetime

from rca_eval.contract import ContractError
from rca_eval.kpis import LifecycleStore, Moment
from rca_eval.serve.alertmanager import AlertNotice
from rca_eval.serve.lines import Lines
from rca_eval.serve.resource import Resource

RECORDED = "Recorded"


class Lifecycles:
    def __init__(self, database: Resource[LifecycleStore], lines: Lines) -> None:
        self._database = database
        self._lines = lines

    async def tell(self, alert: AlertNotice, moment: Moment, at: datetime) -> str:
        """`Recorded`, or why not; a moment that was known before is `Recorded` too: the first one stays."""
        store = self._database.value()
        if store is None:
            return f"not recorded: {self._database.problem()}"
        try:
            await asyncio.to_thread(_note, store, alert, moment, at)
        except ContractError as error:
            self._lines.event(
                "notRecorded", incidentId=alert.incident_id, moment=moment.value, reason=error.message
            )
            return f"not recorded: {error.message}"
        return RECORDED


def _note(store: LifecycleStore, alert: AlertNotice, moment: Moment, at: datetime) -> None:
    # Whichever notification comes first makes the incident known: that it fired is in each of them.
    store.begin(
        alert.incident_id,
        alert=alert.name,
        service=alert.service,
        fired=alert.fired,
        fault_class=alert.fault_class,
    )
    store.note(alert.incident_id, moment, at)
