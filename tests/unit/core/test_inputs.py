"""What beside the image decides what runs: inputs as a set of digests.

Aspects: order and repetition, changed values, both kinds, what is missing, and that no value and no fast digest of a
secret comes out.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rca_rollout.api.reasons import Reason
from rca_rollout.api.revision import Input
from rca_rollout.core.inputs import keys_of, resolve_inputs
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, Unsettled, with_inputs

type Objects = dict[tuple[str, str], dict[str, Any] | Problem | None]

PROMPT = {"configMapRef": {"name": "prompts", "key": "system.txt"}}
MODEL = {"secretRef": {"name": "model", "key": "name"}}


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def objects(prompt: str = "be brief", model: str = "small-1") -> Objects:
    return {
        ("ConfigMap", "prompts"): {"data": {"system.txt": prompt}},
        ("Secret", "model"): {"data": {"name": packed(model)}},
    }


def resolve(listed: list[dict[str, Any]], held: Objects | None = None, namespace: str = "shop") -> Any:
    inputs = [Input.model_validate(each) for each in listed]
    there = objects() if held is None else held
    return resolve_inputs(inputs, lambda kind, name: there.get((kind, name)), namespace)


@settings(max_examples=25, deadline=None)
@given(listed=st.lists(st.sampled_from([PROMPT, MODEL]), min_size=2, max_size=16))
def test_inputs_are_a_set_whatever_their_order_and_how_often_they_are_named(
    listed: list[dict[str, Any]],
) -> None:
    once = [each for each in (PROMPT, MODEL) if each in listed]
    assert resolve(listed) == resolve(once) == resolve(once[::-1])


@pytest.mark.parametrize(
    ("held", "changed"),
    [
        (objects(prompt="be verbose"), "input system.txt of ConfigMap prompts"),
        (objects(model="small-2"), "input name of Secret model"),
    ],
)
def test_a_changed_value_changes_the_digest_of_that_input_alone(held: Objects, changed: str) -> None:
    before, after = dict(resolve([PROMPT, MODEL])), dict(resolve([PROMPT, MODEL], held))
    assert {name for name in before if before[name] != after[name]} == {changed}


def test_neither_a_value_nor_a_digest_of_a_secret_that_is_quick_to_try_comes_out() -> None:
    found = resolve([PROMPT, MODEL])
    told = json.dumps(found)
    assert "small-1" not in told
    assert "be brief" not in told
    digests = dict(found)
    plain = hashlib.sha256(b"small-1").hexdigest()
    assert digests["input name of Secret model"] not in plain
    assert resolve([MODEL], namespace="other") != resolve([MODEL])


def test_binary_data_of_a_config_map_is_its_bytes() -> None:
    held: Objects = {("ConfigMap", "prompts"): {"binaryData": {"system.txt": packed("be brief")}}}
    assert resolve([PROMPT], held) == resolve([PROMPT])


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({}, "does not exist"),
        ({("ConfigMap", "prompts"): {"data": {"user.txt": "x"}}}, "has no key system.txt; it has user.txt"),
        ({("ConfigMap", "prompts"): {}}, "it has none"),
        ({("ConfigMap", "prompts"): {"binaryData": {"system.txt": "no base64!"}}}, "has no key"),
    ],
)
def test_what_is_missing_is_named_and_is_no_value(held: Objects, words: str) -> None:
    problem = resolve([PROMPT], held)
    assert isinstance(problem, Problem)
    assert problem.reason == Reason.INPUT_NOT_FOUND
    assert words in problem.message
    assert "system.txt" in problem.message


def test_what_may_not_be_read_is_told_as_it_is() -> None:
    refused = Problem(Reason.INPUT_UNREADABLE, "no right", stalled=True)
    assert resolve([MODEL], {("Secret", "model"): refused}) == refused


def test_the_image_is_known_also_where_an_input_is_missing() -> None:
    running = Running("r6", "agent@sha256:1", "sha256:1")
    problem = with_inputs(running, Problem(Reason.INPUT_NOT_FOUND, "gone"))
    assert isinstance(problem, Unsettled)
    assert problem.seen == (running,)


def test_the_same_name_in_both_kinds_is_two_inputs() -> None:
    both = [
        Input.model_validate({kind: {"name": "x", "key": "k"}})
        for kind in ("configMapRef", "secretRef", "configMapRef")
    ]
    assert [kind for kind, _ in keys_of(both)] == ["ConfigMap", "Secret"]
