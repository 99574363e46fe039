"""A verdict as a table: the sentence first, then every check, then what moved and what is close."""

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rca_eval.contract import display, exact
from rca_eval.gate import CheckResult, GateResult, Movement
from rca_eval.gate.subject import short_ids

STYLE = {
    "Passed": "green",
    "Failed": "bold red",
    "Inconclusive": "yellow",
    "Error": "bold yellow",
    "Warning": "yellow",
}


def gate_table(result: GateResult) -> RenderableType:
    return Group(*_parts(result))


def _parts(result: GateResult) -> Iterator[RenderableType]:
    yield Text.assemble((result.verdict.upper(), STYLE[result.verdict]), "  ", result.message)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("check", no_wrap=True)
    table.add_column("arm", no_wrap=True)
    table.add_column("result", no_wrap=True)
    table.add_column("why")
    for check in _folded(result.checks):
        outcome = Text(check.result, style=STYLE.get(check.result, ""))
        table.add_row(check.name, check.arm or "", outcome, _without_arm(check))
    yield Text()
    yield table
    yield Text()
    yield from _moved(result)
    for note in result.notes:
        yield Text(note, style="dim")


def _without_arm(check: CheckResult) -> str:
    """The message without what the arm's column says; the reference stays when it is not the baseline."""
    text = check.message.removesuffix(f", {check.arm} against the baseline").removesuffix(f", {check.arm}")
    return text.replace(f", {check.arm} against", ", against")


def _folded(checks: tuple[CheckResult, ...]) -> Iterator[CheckResult]:
    """Passed rows against Without say what the row against the baseline says; one line is enough for a
    reader.
    """
    for check in checks:
        twin = any(
            other is not check
            and (other.name, other.arm, other.result, other.against)
            == (check.name, check.arm, "Passed", "Baseline")
            for other in checks
        )
        if not (check.result == "Passed" and check.against == "Without" and twin):
            yield check


def _moved(result: GateResult) -> Iterator[Text]:
    everything = [*result.regressed, *result.fixed, *result.unchanged]
    live = [move for move in everything if move.arm == "LivePath"]
    if not live:
        return
    ids = [move.incident for move in live]

    def names(moves: tuple[Movement, ...]) -> str:
        mine = [move.incident for move in moves if move.arm == "LivePath"]
        return short_ids(mine, ids) if mine else "none"

    unchanged = sum(move.arm == "LivePath" for move in result.unchanged)
    yield Text(
        f"LivePath: regressed {names(result.regressed)} | fixed {names(result.fixed)} | unchanged {unchanged}"
    )
    if result.margins:
        near = ", ".join(
            f"{short_ids([margin.incident], ids)} {_signed(margin.value)}" for margin in result.margins
        )
        yield Text(f"smallest margins: {near}")


def _signed(figure: str) -> str:
    return ("" if figure.startswith("-") else "+") + display(exact(figure), 4)
