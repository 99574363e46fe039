"""What Alertmanager sends: its webhook payload, version 4. Pure.

Unknown fields are passed over: the payload is somebody else's and grows. One alert is one incident by its fingerprint
and its start, so that a notification that is repeated, or sent to two replicas, is the same incident.
"""

import hashlib
import json
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from rca_eval.contract import ContractError, Reason, load_json, one_line, shown
from rca_eval.contract.model import sentence

SERVICE_LABELS = ("service", "app", "deployment", "statefulset", "daemonset", "job")
"""Labels that may name the service, the first that is there counts."""
CLASS_LABEL = "fault_class"


def _time(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError(  # noqa: TRY004 - what pydantic turns into a sentence
            "a time such as 2026-11-30T12:00:00Z is needed"
        )
    return value


Time = Annotated[datetime, BeforeValidator(_time)]
Labels = Annotated[dict[str, Annotated[str, StringConstraints(max_length=4096)]], Field(max_length=200)]


class _Foreign(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class AlertNotice(_Foreign):
    """One alert of a notification."""

    status: Literal["firing", "resolved"]
    labels: Labels
    annotations: Labels = Field(default_factory=dict)
    starts_at: Annotated[Time, Field(alias="startsAt")]
    ends_at: Annotated[Time | None, Field(alias="endsAt")] = None
    fingerprint: Annotated[str, StringConstraints(max_length=253)] = ""

    @property
    def name(self) -> str:
        return one_line(self.labels.get("alertname", ""))[:253]

    @property
    def service(self) -> str:
        found = next((self.labels[label] for label in SERVICE_LABELS if self.labels.get(label)), "")
        return one_line(found)[:253]

    @property
    def fault_class(self) -> str | None:
        return one_line(self.labels.get(CLASS_LABEL, ""))[:253] or None

    @property
    def fired(self) -> datetime:
        return self.starts_at.astimezone(UTC)

    @property
    def ended(self) -> datetime | None:
        """When it ended; Alertmanager writes the year 1 for one that has not."""
        if self.status != "resolved" or self.ends_at is None or self.ends_at.year < 2000:
            return None
        return self.ends_at.astimezone(UTC)

    @property
    def incident_id(self) -> str:
        """`inc-` and 16 hex digits."""
        print_ = self.fingerprint or json.dumps(self.labels, sort_keys=True)
        digest = hashlib.sha256(f"{print_}|{self.fired.isoformat()}".encode()).hexdigest()
        return f"inc-{digest[:16]}"


class _Webhook(_Foreign):
    version: Literal["4"]
    alerts: Annotated[tuple[AlertNotice, ...], Field(min_length=1)]


def parse_notification(data: bytes, *, limit: int, most: int) -> tuple[AlertNotice, ...]:
    """The alerts of a notification. Raises `ContractError(IncidentInvalid)`."""
    source = "the notification"
    value = load_json(data, source=source, reason=Reason.INCIDENT_INVALID, limit=limit)
    try:
        found = _Webhook.model_validate(value).alerts
    except ValidationError as error:
        raise _invalid(
            f"{source}: {sentence(error)} Send Alertmanager's webhook payload, version 4."
        ) from None
    except RecursionError:
        raise _invalid(f"{source} is nested too deeply.") from None
    if len(found) > most:
        raise _invalid(
            f"{source} has {len(found)} alerts; at most {most} are taken: set max_alerts in Alertmanager."
        )
    for alert in found:
        if alert.starts_at.tzinfo is None:
            raise _invalid(f"{source}: startsAt {shown(alert.starts_at.isoformat())} has no zone; add Z.")
        if not 2000 <= alert.starts_at.year < 2100:
            raise _invalid(
                f"{source}: startsAt {shown(alert.starts_at.isoformat())} is no time of an incident."
            )
    return found


def _invalid(text: str) -> ContractError:
    return ContractError(Reason.INCIDENT_INVALID, text)
