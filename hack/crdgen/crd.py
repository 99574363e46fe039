"""A CustomResourceDefinition from a kind."""

from typing import Any

from hack.crdgen.bounds import problems
from hack.crdgen.structural import CrdError, Schema, ordered, structural, without_defaults
from rca_rollout.api.meta import CATEGORY, GROUP, VERSION, Column, Resource

# On the status as a whole: a default on its field alone would leave a fresh object without a status.
FRESH_STATUS = {"observedGeneration": -1}
AGE = {"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def crd(kind: type[Resource]) -> dict[str, Any]:
    """The whole definition; an error names every place that the API server would refuse."""
    info = kind.info
    schema = open_api(kind)
    wrong = [f"{info.kind}{problem}" for problem in problems(schema)]
    if wrong:
        raise CrdError("\n".join(wrong))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": info.crd_name},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": info.kind,
                "listKind": f"{info.kind}List",
                "plural": info.plural,
                "singular": info.singular,
                "shortNames": [info.short_name],
                "categories": [CATEGORY],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _columns(info.columns),
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def open_api(kind: type[Resource]) -> Schema:
    """The schema of the kind: spec and status from the models, the rest is Kubernetes' own."""
    schema = structural(kind.model_json_schema())
    models = schema["properties"]
    status = {**without_defaults(models["status"]), "default": FRESH_STATUS}
    properties = {
        "apiVersion": {"type": "string", "maxLength": 64},
        "kind": {"type": "string", "maxLength": 64},
        "metadata": {"type": "object"},
        "spec": models["spec"],
        "status": status,
    }
    return ordered({**schema, "required": ["spec"], "properties": properties})


def _columns(columns: tuple[Column, ...]) -> list[dict[str, Any]]:
    # Wide columns come last on the screen wherever they stand here; AGE ends the narrow ones.
    narrow = [_column(column) for column in columns if not column.wide]
    return [*narrow, AGE, *(_column(column) for column in columns if column.wide)]


def _column(column: Column) -> dict[str, Any]:
    priority = {"priority": 1} if column.wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **priority}
