"""What the self-test found, for people: a table of 80 columns, and Markdown."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rca_eval.contract import display
from rca_eval.gate.subject import short_ids
from rca_eval.selftest.aa import Replays
from rca_eval.selftest.mutant import GROUPS, Mutant
from rca_eval.selftest.outcome import Outcome, Survey

STYLE = {
    "caught": "green",
    "unnamed": "yellow",
    "survived": "bold red",
    "equivalent": "dim",
    "refuted": "bold red",
}
MANY = 40


def table(survey: Survey | None, replays: Replays | None, ids: Sequence[str]) -> RenderableType:
    """The sentence first, then every group, then every mutant that was not caught by name."""
    parts: list[RenderableType] = [Text(line) for line in sentences(survey, replays)]
    if survey is not None:
        parts += [Text(), _groups(survey)]
        if len(survey.outcomes) <= MANY:
            parts += [Text(), _mutants(survey, ids)]
        parts += list(_survivors(survey))
    return Group(*parts)


def sentences(survey: Survey | None, replays: Replays | None) -> Iterator[str]:
    """The results in words, each with both numbers."""
    if survey is not None:
        total = len(survey.counted)
        sign = "PASSED" if survey.met and not survey.refuted else "FAILED"
        yield (
            f"{sign}  {_share(survey.named, total)} of {total} mutants are caught with an incident named, "
            f"the goal is {display(survey.goal)}"
        )
        yield f"        {_share(survey.by_accuracy, total)} are caught by accuracy alone (AC@1, ProtectedIncidents)"
        without = len(survey.outcomes) - total
        yield f"        {without} more change nothing that can be seen, each for a reason that is written down"
        if survey.refuted:
            yield f"        refuted: {', '.join(one.mutant.name for one in survey.refuted)}"
    if replays is not None:
        sign = "PASSED" if replays.identical else "FAILED"
        yield (
            f"{sign}  {replays.count} A/A replays in {replays.processes} processes: "
            f"{replays.differing_bytes} differing bytes in {replays.answers} answers"
        )
        if replays.differing:
            yield f"        {', '.join(replays.differing[:5])}"
        if replays.failure:
            yield f"        {replays.failure}"


def listing(mutants: Sequence[Mutant]) -> RenderableType:
    """Names, groups, and what each mutant imitates."""
    found = _frame("mutant", "group", "what it imitates")
    for mutant in mutants:
        text = mutant.imitates + ("; equivalent" if mutant.equivalent else "")
        found.add_row(mutant.name, mutant.group, text)
    return found


def markdown(survey: Survey | None, replays: Replays | None) -> str:
    """The same as Markdown: the sentences, the groups, the survivors."""
    lines = ["## Self-test of the gate", "", *(f"- {line.strip()}" for line in sentences(survey, replays))]
    if survey is not None:
        lines += ["", "| group | mutants | named | by accuracy |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(row)} |" for row in _rows(survey)]
        lost = [one for one in survey.counted if not one.named or not one.by_accuracy]
        if lost:
            lines += [
                "",
                "| not caught | group | checks | what would catch it, or what it imitates |",
                "|---|---|---|---|",
            ]
            lines += [
                f"| {one.mutant.name} | {one.mutant.group} | {_checks(one) or 'none'} | {one.mutant.needs or one.mutant.imitates} |"
                for one in lost
            ]
    return "\n".join(lines) + "\n"


def _groups(survey: Survey) -> RenderableType:
    found = _frame("group", "mutants", "named", "by accuracy")
    for row in _rows(survey):
        found.add_row(*row)
    return found


def _rows(survey: Survey) -> Iterator[tuple[str, str, str, str]]:
    for group in GROUPS:
        mine = [one for one in survey.counted if one.mutant.group == group]
        if mine:
            named, accurate = sum(one.named for one in mine), sum(one.by_accuracy for one in mine)
            yield group, str(len(mine)), str(named), str(accurate)


def _mutants(survey: Survey, ids: Sequence[str]) -> RenderableType:
    found = _frame("mutant", "result", "by", "incidents")
    for one in survey.outcomes:
        best = one.best
        incidents = short_ids(best.incidents, ids) if best and best.incidents else ""
        by = best.reason if best else ""
        found.add_row(one.mutant.name, Text(one.status, style=STYLE[one.status]), by, incidents)
    return found


def _survivors(survey: Survey) -> Iterator[RenderableType]:
    blind = [one for one in survey.counted if not one.named]
    bytes_only = [one for one in survey.counted if one.named and not one.by_accuracy]
    for title, rows in (("Not caught with an incident named", blind), ("Not caught by accuracy", bytes_only)):
        if not rows:
            continue
        found = _frame("mutant", "seen by", "what would catch it, or what it imitates")
        for one in rows:
            found.add_row(one.mutant.name, _checks(one), one.mutant.needs or one.mutant.imitates)
        yield Text()
        yield Text(f"{title}: {len(rows)}")
        yield found


def _checks(one: Outcome) -> str:
    return ", ".join((*one.checks, *(f"({name})" for name in one.warnings)))


def _frame(*columns: str) -> Table:
    found = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    for column in columns:
        found.add_column(column)
    return found


def _share(part: int, whole: int) -> str:
    return f"{part} ({display(Fraction(part, whole))})" if whole else str(part)
