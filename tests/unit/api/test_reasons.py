"""Reasons are a public vocabulary: one word, one line of meaning each."""

import re

import pytest

from rca_eval.contract import errors as contract
from rca_eval.gate import VALIDITY_REASONS
from rca_rollout.api import Reason


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_documented(reason: Reason) -> None:
    assert re.fullmatch(r"[A-Z][A-Za-z]{2,62}", reason.value)
    assert reason.name == re.sub(r"(?<=[a-z])(?=[A-Z])", "_", reason.value).upper()
    assert "\n" not in reason.meaning
    assert len(reason.meaning) <= 110
    assert re.search(r"[.)]$", reason.meaning)


def test_what_the_harness_and_the_gate_report_is_documented_here_too() -> None:
    """Their words end up in the status of a run."""
    words = {reason.value for reason in Reason}
    assert {reason.value for reason in contract.Reason} <= words
    assert set(VALIDITY_REASONS) <= words


def test_meanings_differ() -> None:
    assert len({reason.meaning for reason in Reason}) == len(Reason)
