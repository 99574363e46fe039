"""Remembers what pure functions said of the same immutable input. A search asks the same questions a hundred thousand times.

Bodies in the store are never changed in place, so an object's identity stands for its content while it is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rca_rollout.core import answers, epoch, readings, verdict
from rca_testing.model import process
from rca_testing.model.process import inline

_ENOUGH = 4000


def remembered(function: Callable[..., Any], key: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, once per `key` of its arguments. The arguments are kept, so that no identity is used twice."""
    known: dict[Any, tuple[Any, Any]] = {}

    def asked(*arguments: Any, **named: Any) -> Any:
        place = key(*arguments, **named)
        if place not in known:
            if len(known) > _ENOUGH:
                known.clear()
            known[place] = ((arguments, named), function(*arguments, **named))
        return known[place][1]

    return asked


def install(patch: pytest.MonkeyPatch) -> None:
    """For as long as `patch` lives."""
    patch.setattr(asyncio, "to_thread", inline)
    patch.setattr(epoch, "digest", remembered(epoch.digest, repr))
    patch.setattr(
        process,
        "resolve_suite",
        remembered(
            process.resolve_suite,
            lambda name, spec, dataset, baseline, image: (name, repr(spec), id(dataset), id(baseline), image),
        ),
    )
    patch.setattr(
        readings,
        "decode_packed",
        _or_error(readings.decode_packed, lambda raw, *, expected_sha256=None: (raw, expected_sha256)),
    )
    patch.setattr(answers, "parse", _or_error(answers.parse, lambda document, *, source: (document, source)))
    patch.setattr(
        verdict,
        "evaluate",
        remembered(
            verdict.evaluate,
            lambda card, baseline, policy, context, **_: (
                id(card),
                id(baseline),
                repr(policy),
                repr(context),
            ),
        ),
    )


def _or_error(function: Callable[..., Any], key: Callable[..., Any]) -> Callable[..., Any]:
    def attempt(*arguments: Any, **named: Any) -> tuple[Any, Exception | None]:
        try:
            return function(*arguments, **named), None
        except Exception as error:
            return None, error

    asked = remembered(attempt, key)

    def again(*arguments: Any, **named: Any) -> Any:
        answer, error = asked(*arguments, **named)
        if error is not None:
            raise error
        return answer

    return again
