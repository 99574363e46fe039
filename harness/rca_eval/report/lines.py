"""The sentences that all formats share, so that none says it in other words or with other numbers."""

import re
from collections.abc import Iterator

from rca_eval.report.document import CheckRow, IncidentRow, LostRow, Report
from rca_eval.report.text import brief, listed, margin, moved, number, rank

_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
UNKNOWN = "not known without the dataset (--dataset FILE or --profile NAME)"


def ids_of(report: Report) -> list[str]:
    return [row.id for row in report.incidents]


def short_digests(text: str) -> str:
    """Twelve digits of a digest are enough to compare two by eye."""
    return _DIGEST.sub(r"\1", text)


def why_lines(report: Report) -> Iterator[str]:
    if report.why.sentence:
        yield report.why.sentence
    for weights in report.why.weights:
        if weights not in (report.why.sentence or ""):
            yield f"weights: {weights}"
    yield from report.why.notes


def moved_line(report: Report) -> str:
    """`LivePath: regressed GT-03 | fixed none | unchanged 8`."""
    ids = ids_of(report)
    live = list(
        dict.fromkeys(row.id for row in report.incidents if row.arm == "LivePath" and row.outcome == "Lost")
    )
    text = f"LivePath: regressed {listed(live, ids)} | fixed {listed(report.fixed, ids)} | unchanged {report.unchanged}"
    if report.still_missed:
        text += f" | missed before too {listed(report.still_missed, ids)}"
    return text


def near_line(report: Report) -> str:
    """The smallest margins that are left: what will be lost next."""
    ids = ids_of(report)
    return ", ".join(
        f"{brief(row.id, ids)} {margin(row.margin_now)}"
        + (f" (was {margin(row.margin_was)})" if row.margin_was not in (None, row.margin_now) else "")
        for row in report.near
    )


def rank_moved(row: LostRow | IncidentRow) -> str:
    """An incident that a reference did not hold has no old rank."""
    return moved(rank(row.rank_was) if row.rank_was is not None else None, rank(row.rank_now))


def margin_moved(row: LostRow | IncidentRow) -> str:
    return moved(margin(row.margin_was) if row.margin_was is not None else None, margin(row.margin_now))


def what_now(row: LostRow | IncidentRow) -> str:
    """What stands first, or why nothing does."""
    first = row.winner if isinstance(row, LostRow) else row.first
    if row.status != "Ranked":
        return f"{row.status}: {row.error}" if row.error else row.status
    return first or "nothing was ranked"


def context_lines(report: Report) -> Iterator[str]:
    """Chance and rules first: a number means something only beside them."""
    context = report.context
    was = f" (was {number(context.accuracy_was)})" if context.accuracy_was is not None else ""
    chance = ""
    if context.chance is not None:
        chance = f"chance {number(context.chance)}, lift {number(context.lift)}, "
    yield (
        f"AC@1 {number(context.accuracy)}{was}, "
        f"{chance}"
        f"cause among the candidates {number(context.retrieval)}"
    )
    if context.rankers is None:
        yield f"chance and simple rules: {UNKNOWN}"
    else:
        yield "simple rules: " + (
            ", ".join(f"{one.name} {number(one.accuracy)}" for one in context.rankers)
            or "no incident has telemetry, so they score nothing"
        )
    for row in context.statistics:
        if row.arm == context.arm:
            yield f"against {row.against}: {row.sentence}"
    yield from context.caveats


def run_lines(report: Report) -> Iterator[str]:
    yield from (f"{fact.name} {short_digests(fact.value)}" for fact in report.run)


def folded(checks: tuple[CheckRow, ...]) -> Iterator[CheckRow]:
    """Passed rows against Without say what the row against the baseline says; one line is enough for a reader."""
    passed = {(one.name, one.arm) for one in checks if (one.result, one.against) == ("Passed", "Baseline")}
    for check in checks:
        if not (
            check.result == "Passed" and check.against == "Without" and (check.name, check.arm) in passed
        ):
            yield check


def without_arm(check: CheckRow) -> str:
    """The message without what the arm's column says; the reference stays when it is not the baseline."""
    text = check.message.removesuffix(f", {check.arm} against the baseline").removesuffix(f", {check.arm}")
    return text.replace(f", {check.arm} against", ", against")
