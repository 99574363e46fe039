"""docs/eval-jobs.md names every reason that a Pod or Job can end with, and says of each what is true of it."""

from __future__ import annotations

import re
from pathlib import Path

from rca_rollout.api.reasons import Reason
from rca_rollout.core.lifecycle.errors import LIMIT, MENDS_ITSELF

ROOT = Path(__file__).resolve().parents[3]
DOC = (ROOT / "docs/eval-jobs.md").read_text()
WAITS = {Reason.QUEUED, Reason.JOB_SUSPENDED}  # nothing ends with these


def _rows() -> dict[str, str]:
    """Reason to the rest of its row."""
    found: dict[str, str] = {}
    for line in DOC.splitlines():
        if match := re.match(r"\| ((?:`\w+`(?:, )?)+) \|(.*)", line):
            found |= dict.fromkeys(re.findall(r"`(\w+)`", match[1]), match[2])
    return found


def _used() -> set[Reason]:
    sources = [*(ROOT / "operator/rca_rollout/core/pods").glob("*.py")]
    assert len(sources) > 5
    words = {word for path in sources for word in re.findall(r"Reason\.([A-Z_]+)\b", path.read_text())}
    return {Reason[word] for word in words} - {Reason.RUN_IN_PROGRESS}


def test_every_reason_of_a_pod_or_job_has_a_row() -> None:
    assert _used() <= {Reason(word) for word in _rows()}


def test_what_is_said_to_count_counts_and_nothing_else_does() -> None:
    for word, row in _rows().items():
        reason = Reason(word)
        if reason in WAITS:
            continue
        assert ("*counts*" in row) == (reason not in MENDS_ITSELF), word


def test_the_limit_is_the_one_in_the_code() -> None:
    assert LIMIT == 5
    assert "after five such runs in a row" in DOC
