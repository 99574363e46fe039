"""The generator: what pydantic says and Kubernetes does not understand is translated, or ends the generation."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, create_model

from hack.crdgen.__main__ import differences, main, rendered
from hack.crdgen.bounds import problems
from hack.crdgen.structural import CrdError, structural
from rca_rollout.api import Model, Rule
from rca_rollout.api.base import Cel

Short = Annotated[str, Field(max_length=5)]


class Colour(StrEnum):
    """Primary."""

    RED = "Red"


class Inner(Model):
    """A part."""

    cel = (Rule("self.a != ''", "a must not be empty"),)
    a: Short = "x"
    b: Short | None = None


def schema_of(annotation: Any, default: Any = ...) -> dict[str, Any]:
    """The schema of one field."""
    model = create_model("Some", __base__=Model, field=(annotation, default))
    schema: dict[str, Any] = structural(model.model_json_schema())
    return dict(schema["properties"]["field"])


def test_references_are_inlined_with_their_rules() -> None:
    inner = schema_of(Inner)
    assert inner["properties"] == {
        "a": {"type": "string", "maxLength": 5, "default": "x"},
        "b": {"type": "string", "maxLength": 5},
    }
    assert inner["x-kubernetes-validations"] == [{"rule": "self.a != ''", "message": "a must not be empty"}]
    assert inner["description"] == "A part."


def test_defaults_leave_out_what_is_empty() -> None:
    assert schema_of(Inner, Inner())["default"] == {"a": "x"}
    assert "default" not in schema_of(Annotated[tuple[Short, ...], Field(max_length=2)], ())
    assert schema_of(Short, "")["default"] == ""
    assert schema_of(bool, False)["default"] is False
    assert schema_of(int, 0)["default"] == 0


def test_one_value_is_an_enum_of_one() -> None:
    assert schema_of(Literal["Exact"])["enum"] == ["Exact"]
    assert schema_of(Colour)["enum"] == ["Red"]


def test_exclusive_bounds_are_flags() -> None:
    assert schema_of(Annotated[int, Field(gt=0, lt=9)]) == {
        "type": "integer",
        "format": "int64",
        "minimum": 0,
        "exclusiveMinimum": True,
        "maximum": 9,
        "exclusiveMaximum": True,
    }


def test_rules_on_a_type_add_up() -> None:
    rules = schema_of(Annotated[Short, Cel(Rule("a", "A")), Cel(Rule("b", "B"))])["x-kubernetes-validations"]
    assert [rule["message"] for rule in rules] == ["A", "B"]


@pytest.mark.parametrize("annotation", [Short | int, Annotated[tuple[int, str], Field()], set[Short]])
def test_what_a_crd_cannot_say_is_refused(annotation: Any) -> None:
    with pytest.raises(CrdError, match=r"\.field: "):
        schema_of(annotation)


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (str, "x is a string without maxLength"),
        (tuple[Short, ...], "x is a array without maxItems"),
        (Annotated[tuple[str, ...], Field(max_length=2)], "x[] is a string without maxLength"),
        (Mapping[str, Short], "x is a map without maxProperties"),
        (Annotated[Mapping[str, str], Field(max_length=2)], "x{} is a string without maxLength"),
        (float, "x is a float; use a decimal string"),
        (Any, "x has no type"),
    ],
)
def test_what_has_no_bound_is_reported(annotation: Any, problem: str) -> None:
    assert list(problems(schema_of(annotation), "x")) == [problem]


def test_a_second_run_changes_nothing(tmp_path: Any) -> None:
    assert main(["--out", str(tmp_path)]) == 0
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["--out", str(tmp_path)]) == 0
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["--out", str(tmp_path), "--check"]) == 0


def test_drift_is_named(tmp_path: Any) -> None:
    main(["--out", str(tmp_path)])
    files = sorted(tmp_path.iterdir())
    files[0].unlink()
    files[1].write_text("edited")
    (tmp_path / "other.yaml").write_text("")
    assert differences(tmp_path, rendered()) == [
        "other.yaml belongs to no kind",
        f"{files[0].name} is missing",
        f"{files[1].name} is not what the models say",
    ]
