"""From raw objects to typed ones. The spec is read strictly, the status as far as it can be read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from rca_rollout.api.base import Model
from rca_rollout.api.common import Status
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.meta import Metadata, Resource
from rca_rollout.api.run import EvalRun
from rca_rollout.api.suite import EvalSuite

# pydantic speaks of fields and inputs; this is for somebody with a YAML file.
_SENTENCES = {"Field required": "is required", "Extra inputs are not permitted": "is not a known field"}

KINDS: Mapping[str, type[Resource]] = {kind.info.kind: kind for kind in (RcaComponent, EvalRun, EvalSuite)}


@dataclass(frozen=True)
class InvalidSpec:
    """An object whose spec cannot be used, with what is needed to write the reason into its status."""

    kind: str
    metadata: Metadata
    status: Status
    message: str


def parse[K: Resource](kind: type[K], body: Mapping[str, Any]) -> K | InvalidSpec:
    """The typed object, or a sentence that says what is wrong with its spec."""
    metadata = Metadata.model_validate(body.get("metadata") or {}, extra="ignore")
    status = read_status(_model(kind, "status", Status), body.get("status"))
    try:
        spec = _model(kind, "spec", Model).model_validate(body.get("spec") or {})
    except ValidationError as error:
        return InvalidSpec(kind.info.kind, metadata, status, describe(error, "spec"))
    try:
        return kind.model_validate({"metadata": metadata, "spec": spec, "status": status})
    except ValidationError as error:
        return InvalidSpec(kind.info.kind, metadata, status, describe(error))


def read_status[S: Status](model: type[S], raw: Mapping[str, Any] | None) -> S:
    """What can be read of a status.

    Another version of the operator may have written words or fields that this one does not know. A field that
    cannot be read counts as absent: lost evidence is gathered again, which is the safe direction.
    """
    fields = dict(raw or {})
    try:
        return model.model_validate(fields, extra="ignore")
    except ValidationError as error:
        unreadable = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
        return model.model_validate(
            {name: value for name, value in fields.items() if name not in unreadable}, extra="ignore"
        )


def describe(error: ValidationError, root: str = "") -> str:
    """At most three findings as one sentence: where, and what."""
    findings = error.errors(include_url=False)
    parts = [_finding(root, detail["loc"], detail["msg"]) for detail in findings[:3]]
    if len(findings) > 3:
        parts.append(f"and {len(findings) - 3} more")
    return "; ".join(parts)


def _finding(root: str, location: tuple[int | str, ...], message: str) -> str:
    path = root
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    text = _SENTENCES.get(message, message.removeprefix("Value error, "))
    return f"{path.lstrip('.')}: {text}" if path else text


def _model[M: Model](kind: type[Resource], field: str, bound: type[M]) -> type[M]:
    annotation = kind.model_fields[field].annotation
    if not (isinstance(annotation, type) and issubclass(annotation, bound)):
        raise TypeError(f"{kind.__name__}.{field} is not a {bound.__name__}")
    return annotation
