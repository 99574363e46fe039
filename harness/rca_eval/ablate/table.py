"""The matrix for people, in 80 columns, and for machines."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from rca_eval.ablate.judge import CHECKS, Finding
from rca_eval.ablate.run import COMBINATIONS, SHORT, Combination, Matrix, label
from rca_eval.contract import ArmResult, display, nine
from rca_eval.engine import ACTIVE, KEYS, SHADOW
from rca_eval.gate.subject import accuracy, hits, short_ids

ARMS = ("ScorerOnly", "LivePath")
ABREAST = 2  # datasets beside one another; more do not fit into 80 columns
WIDTH = 80
SHOWN = 4  # cells of one finding that are named


def matrix_table(matrices: Sequence[Matrix], findings: Sequence[Finding]) -> RenderableType:
    """Rows are combinations; for each dataset AC@1 of both arms, and the smallest margin of LivePath."""
    bad = {(one.dataset, one.combination) for one in findings}
    lines: list[Text] = []
    for at in range(0, len(matrices), ABREAST):
        lines += [*_block(matrices[at : at + ABREAST], bad), Text("")]
    return Group(*lines, *_verdict(matrices, findings))


def _block(matrices: Sequence[Matrix], bad: set[tuple[str, Combination | None]]) -> Iterator[Text]:
    first = "  ".join(f"{matrix.subject.name[:26]:<26}" for matrix in matrices)
    yield Text(f"{'':20}{first}".rstrip(), style="bold")
    heads = "".join(f"{SHORT[key]:<5}" for key in KEYS)
    columns = "  ".join(f"{'Scorer':<8}{'Live':<8}{'min margin':<10}" for _ in matrices)
    yield Text(f"{heads}{columns}".rstrip(), style="bold")
    for active in COMBINATIONS:
        marks = "".join(f"{'A' if key in active else '.':<5}" for key in KEYS)
        line = Text(marks)
        for place, matrix in enumerate(matrices):
            style = "red" if (matrix.subject.name, active) in bad else ""
            line.append("  " if place else "")
            line.append(_cells(matrix, active), style=style)
            line.append("!" if style else " ")
        line.rstrip()
        yield line


def _cells(matrix: Matrix, active: Combination) -> str:
    known = {arm.arm: arm for arm in matrix.arms[active]}
    values = [f"{display(accuracy(known[arm])) if arm in known else '-':<8}" for arm in ARMS]
    margin = min_margin(known["LivePath"])
    shown = "-" if margin is None else f"{'+' if margin >= 0 else ''}{display(margin, 4)}"
    return "".join(values) + f"{shown:<9}"


def min_margin(arm: ArmResult) -> Fraction | None:
    """Score of the cause minus that of the best other, the smallest of the arm."""
    margins = [margin for row in arm.incidents if (margin := row.margin()) is not None]
    return min(margins, default=None)


def _verdict(matrices: Sequence[Matrix], findings: Sequence[Finding]) -> Iterator[Text]:
    count = sum(len(arms) for matrix in matrices for arms in matrix.arms.values())
    yield Text(f"{count} cells: A = Active, . = Shadow; ! = something does not hold there")
    for check in CHECKS:
        mine = [one for one in findings if one.check == check]
        word = "not judged" if any(one.missing for one in mine) else "FAILED" if mine else "ok"
        yield Text(f"{check:<12}{word}", style="red" if mine else "")
        for (where, message), cells in _grouped(mine).items():
            more = f" and {len(cells) - SHOWN} more" if len(cells) > SHOWN else ""
            names = f" [{', '.join(cells[:SHOWN])}{more}]" if cells else ""
            line = wrap(
                f"{where}{names}: {message}", WIDTH - 4, initial_indent="  ", subsequent_indent="    "
            )
            yield Text("\n".join(line))


def _grouped(findings: Sequence[Finding]) -> dict[tuple[str, str], list[str]]:
    """What is said of several combinations is said once, with their names."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in findings:
        where = "/".join(part for part in (one.dataset, one.arm) if part)
        cells = found.setdefault((where, one.message), [])
        cells += [] if one.combination is None else [label(one.combination)]
    return found


def matrix_json(matrices: Sequence[Matrix], findings: Sequence[Finding]) -> dict[str, Any]:
    """The same, complete: every cell with the incidents that it lost."""
    return {
        "combinations": [
            {
                "name": label(active),
                "modes": {key: ACTIVE if key in active else SHADOW for key in KEYS},
                "cells": [_cell(matrix, arm) for matrix in matrices for arm in matrix.arms[active]],
            }
            for active in COMBINATIONS
        ],
        "findings": [
            {
                "check": one.check,
                "result": "NotJudged" if one.missing else "Failed",
                "cell": one.cell,
                "message": one.message,
            }
            for one in findings
        ],
        "passed": not findings,
    }


def _cell(matrix: Matrix, arm: ArmResult) -> dict[str, Any]:
    kept, margin = hits(arm), min_margin(arm)
    return {
        "dataset": matrix.subject.name,
        "arm": arm.arm,
        "AC@1": nine(accuracy(arm)),
        "incidents": len(arm.incidents),
        "minMargin": None if margin is None else nine(margin),
        "lost": [short_ids([key], kept) for key, hit in kept.items() if not hit],
    }
