"""A version field holds a number. To Python True equals 1; to everybody else who reads the document it does not."""

import importlib
import pkgutil
from typing import Any, get_args, get_origin

import pytest
from pydantic import TypeAdapter, ValidationError

import rca_eval.contract
import rca_eval.gate
from rca_eval.contract import ContractError, parse_ground_truth, parse_predictions
from rca_eval.contract.model import Model


def numbers_in(annotation: Any) -> list[int]:
    """The numbers that a type allows by name, however deep they stand in it."""
    if get_origin(annotation) is not None or get_args(annotation):
        inner = [
            numbers_in(one) if not isinstance(one, int | str | None) else [one]
            for one in get_args(annotation)
        ]
        return [one for found in inner for one in found if isinstance(one, int) and not isinstance(one, bool)]
    return []


def models() -> list[type[Model]]:
    for package in (rca_eval.contract, rca_eval.gate):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    found, queue = [], [Model]
    while queue:
        for one in queue.pop().__subclasses__():
            queue.append(one)
            if one.__module__.startswith(("rca_eval.contract.", "rca_eval.gate.")):
                found.append(one)
    return found


VERSIONED = [
    pytest.param(model, name, id=f"{model.__name__}.{name}")
    for model in models()
    for name, field in model.model_fields.items()
    if numbers_in(field.annotation)
]


def test_every_versioned_document_is_found() -> None:
    names = {param.id for param in VERSIONED}
    assert {
        "GroundTruth.schema_version",
        "Scorecard.schema_version",
        "Baseline.schema_version",
        "Manifest.protocol",
        "EngineIncident.protocol",
        "Predictions.protocol",
    } <= names


@pytest.mark.parametrize(("model", "name"), VERSIONED)
def test_true_is_no_version(model: type[Model], name: str) -> None:
    field = model.model_fields[name]
    adapter = TypeAdapter(field.rebuild_annotation())
    assert adapter.validate_python(1) == 1
    for value in (True, False, "1", 1.5, 2, None):
        with pytest.raises(ValidationError):
            adapter.validate_python(value)


def test_the_sentence_names_the_field_and_the_number_that_is_needed() -> None:
    with pytest.raises(
        ContractError, match=r"^predictions.json: protocol: the number 1 is needed \(found true\)"
    ):
        parse_predictions(b'{"protocol": true, "engine": {"name": "e", "version": "1"}, "predictions": []}')
    with pytest.raises(ContractError, match=r"schemaVersion: the number 1 is needed \(found true\)"):
        parse_ground_truth(b'{"schemaVersion": true, "windowSeconds": 1800, "incidents": [{}]}')
