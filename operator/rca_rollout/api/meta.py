"""The group, the metadata we read, and what a kind says about itself to the CRD generator."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field, WithJsonSchema

from rca_rollout.api.base import Model
from rca_rollout.api.common import Status
from rca_rollout.api.values import Timestamp

GROUP = "rca.bluerobin.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
CATEGORY = "rca"


@dataclass(frozen=True)
class Column:
    """A printer column. Strings, because a type mismatch shows as a blank cell."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True)
class KindInfo:
    """Names and columns of a kind."""

    kind: str
    plural: str
    singular: str
    short_name: str
    columns: tuple[Column, ...]

    @property
    def crd_name(self) -> str:
        return f"{self.plural}.{GROUP}"


class OwnerReference(Model):
    """Who owns an object."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ManagedFields(Model):
    """Which fields a manager wrote last, and when."""

    manager: str = ""
    operation: str = ""
    time: Timestamp | None = None
    subresource: str = ""
    fields_v1: Annotated[
        Mapping[str, Any],
        Field(alias="fieldsV1"),
        WithJsonSchema({"type": "object"}),  # the API server knows better: metadata is not in our schemas
    ] = {}


class Metadata(Model):
    """The part of ObjectMeta that we read."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    managed_fields: tuple[ManagedFields, ...] = ()
    """Empty where it was not read live: the watched copies go without."""


class Resource(Model):
    """An object of one of our kinds. Subclasses say which spec and status it has."""

    info: ClassVar[KindInfo]

    metadata: Metadata
    spec: Model
    status: Status

    @property
    def key(self) -> tuple[str, str]:
        return (self.metadata.namespace, self.metadata.name)

    def to_dict(self) -> dict[str, Any]:
        metadata = self.metadata.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
        return {"apiVersion": API_VERSION, "kind": self.info.kind, **super().to_dict(), "metadata": metadata}
