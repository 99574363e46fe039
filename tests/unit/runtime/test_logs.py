"""A log line is one JSON object, whatever was said."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from rca_rollout.runtime.logs import JsonFormatter


def line(message: str, *arguments: object, error: bool = False) -> str:
    info = None
    if error:
        try:
            int("two\nlines")
        except ValueError:
            info = sys.exc_info()
    record = logging.LogRecord("rca_rollout.x", logging.WARNING, __file__, 1, message, arguments, info)
    record.created = 1764496800.25
    return JsonFormatter().format(record)


@pytest.mark.parametrize("message", ["plain", 'a "quote"', "two\nlines", "ümläut ✓", "\x1b[31mred", "100 %"])
def test_one_line_holds_one_object_with_the_message_as_it_was(message: str) -> None:
    text = line(message)
    assert "\n" not in text
    assert json.loads(text) == {
        "time": "2025-11-30T10:00:00.250+00:00",
        "level": "warning",
        "logger": "rca_rollout.x",
        "message": message,
    }


def test_arguments_are_filled_in() -> None:
    assert json.loads(line("%s: %d", "shop/live", 3))["message"] == "shop/live: 3"


def test_a_traceback_stays_in_its_line() -> None:
    text = line("unexpected", error=True)
    assert "\n" not in text
    assert "ValueError: invalid literal" in json.loads(text)["error"]
