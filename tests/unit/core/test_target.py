"""The one key: who may be written, what stands there, and a patch that changes it only if nothing moved."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rca_testing.config_maps import PatchRefusedError, apply_patch, target
from rca_testing.evidence import KEY

from rca_rollout.api.component import TargetValues
from rca_rollout.core.names import KEYS_ANNOTATION
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import effective_mode
from rca_rollout.core.target import TargetView, escape_pointer, view_target, write_conflict, write_patch


def view(body: Any, key: str = KEY) -> TargetView:
    found = view_target(body, "modes", key)
    assert isinstance(found, TargetView), found
    return found


def problem(body: Any) -> Problem:
    found = view_target(body, "modes", KEY)
    assert isinstance(found, Problem), found
    assert found.message
    return found


def owned_by(manager: str, operation: str = "Apply", key: str = KEY, **annotations: str) -> Any:
    body = target()
    body["metadata"]["annotations"] |= annotations
    body["metadata"]["managedFields"] = [
        {"manager": manager, "operation": operation, "fieldsV1": {"f:data": {".": {}, f"f:{key}": {}}}}
    ]
    return body


def annotated(text: str) -> Any:
    body = target()
    body["metadata"]["annotations"] = {KEYS_ANNOTATION: text}
    return body


@pytest.mark.parametrize("text", [KEY, f"Other.Mode,{KEY}", f" {KEY} , Other.Mode ", f"{KEY},"])
def test_a_key_that_is_listed_has_opted_in(text: str) -> None:
    assert view(annotated(text)).value == "Shadow"


@pytest.mark.parametrize("text", ["", "Other.Mode", f"{KEY}2", f"X{KEY}", "*", KEY.lower()])
def test_a_key_that_is_not_listed_has_not(text: str) -> None:
    assert (problem(annotated(text)).reason, problem(annotated(text)).stalled) == ("TargetNotOptedIn", True)


@pytest.mark.parametrize(
    "labels", [None, {}, {"rca.bluerobin.io/watch": "Disabled"}, {"rca.bluerobin.io/watch": "enabled"}]
)
def test_the_annotation_without_the_label_is_not_enough(labels: Any) -> None:
    body = target()
    body["metadata"]["labels"] = labels
    assert problem(body).reason == "TargetNotOptedIn"


def test_what_is_missing_or_going_is_not_found() -> None:
    going = target()
    going["metadata"]["deletionTimestamp"] = "2026-11-30T10:00:00Z"
    assert problem(None).reason == problem(going).reason == "TargetNotFound"


def test_a_binary_key_is_an_unknown_value() -> None:
    assert problem({**target(None), "binaryData": {KEY: "AAAA"}}).reason == "UnknownValue"


@pytest.mark.parametrize(
    ("body", "value", "has_data"),
    [
        (target("Active"), "Active", True),
        (target(None), None, True),
        ({k: v for k, v in target().items() if k != "data"}, None, False),
        (target("Shadow", data=None), None, False),
        (target("Shadow", data={}), None, True),
    ],
)
def test_the_value_and_the_absence_of_data_are_told_apart(
    body: Any, value: str | None, has_data: bool
) -> None:
    found = view(body)
    assert (found.value, found.has_data) == (value, has_data)


@pytest.mark.parametrize("manager", ["argocd-controller", "kustomize-controller", "helm", "helm-controller"])
def test_a_key_that_git_applies_is_not_promoted_and_says_who_applies_it(manager: str) -> None:
    found = view(owned_by(manager))
    conflict = write_conflict(found, "modes", KEY, towards_active=True)
    assert conflict
    assert (conflict.reason, conflict.stalled) == ("ConfigConflict", True)
    assert manager in conflict.message
    assert write_conflict(found, "modes", KEY, towards_active=False) is None  # safety first


@pytest.mark.parametrize(
    "body",
    [
        owned_by("kubectl"),
        owned_by("rca-rollout"),
        owned_by("kustomize-controller", key="Other.Mode"),
        owned_by("kustomize-controller", **{"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}),
        owned_by("kustomize-controller", **{"kustomize.toolkit.fluxcd.io/ssa": "Ignore"}),
        target(),
    ],
)
def test_others_stand_in_nobody_s_way(body: Any) -> None:
    assert write_conflict(view(body), "modes", KEY, towards_active=True) is None


@pytest.mark.parametrize("towards_active", [True, False])
def test_an_immutable_config_map_cannot_be_written_either_way(towards_active: bool) -> None:
    conflict = write_conflict(view(target(immutable=True)), "modes", KEY, towards_active=towards_active)
    assert conflict
    assert conflict.reason == "TargetImmutable"


BODIES = [
    target("Shadow"),
    target(None),
    {k: v for k, v in target().items() if k != "data"},
    target("", data={KEY: ""}),
]


@pytest.mark.parametrize("body", BODIES)
def test_the_patch_sets_the_key_and_nothing_else(body: Any) -> None:
    after = apply_patch(body, write_patch(view(body), KEY, "Active"))
    assert after["data"][KEY] == "Active"
    others = {k: v for k, v in (body.get("data") or {}).items() if k != KEY}
    assert {k: v for k, v in after["data"].items() if k != KEY} == others


@pytest.mark.parametrize("body", BODIES)
def test_the_patch_changes_nothing_when_the_key_or_the_object_moved(body: Any) -> None:
    patch = write_patch(view(body), KEY, "Active")
    again = copy.deepcopy(body)
    again["metadata"]["uid"] = "cm-2"
    moved = copy.deepcopy(body)
    moved["data"] = {**(moved.get("data") or {}), KEY: "Off"}
    moved["metadata"]["resourceVersion"] = "2"
    for changed in (again, moved):
        with pytest.raises(PatchRefusedError):
            apply_patch(changed, patch)


def test_another_key_may_move_meanwhile() -> None:
    body = target("Shadow")
    patch = write_patch(view(body), KEY, "Active")
    body["data"]["Other.Mode"] = "Active"
    body["metadata"]["resourceVersion"] = "9"
    assert apply_patch(body, patch)["data"] == {"Other.Mode": "Active", KEY: "Active"}


@pytest.mark.parametrize(
    ("key", "escaped"), [("a~b", "a~0b"), ("a/b", "a~1b"), ("~1", "~01"), ("/~", "~1~0")]
)
def test_pointers_are_escaped(key: str, escaped: str) -> None:
    assert escape_pointer(key) == escaped


@given(st.text(alphabet="~/01a.", min_size=1, max_size=8))
def test_any_key_is_written_where_it_belongs(key: str) -> None:
    body = target("Shadow", key=key) if "," not in key else target()
    patch = write_patch(TargetView("cm-1", "1", "Shadow", True), key, "Active")
    assert apply_patch(body, patch)["data"][key] == "Active"


@pytest.mark.parametrize(
    ("value", "mode"),
    [
        (None, "Shadow"),
        ("Off", "Shadow"),
        ("On", "Active"),
        ("Shadow", "Unknown"),
        ("on", "Unknown"),
        ("", "Unknown"),
    ],
)
def test_the_mode_is_what_a_consumer_reads(value: str | None, mode: str) -> None:
    assert effective_mode(value, TargetValues(shadow="Off", active="On")) == mode
