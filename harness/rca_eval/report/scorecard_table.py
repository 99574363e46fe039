"""A scorecard as a table. The sentinel arm is never shown without the honest one, and says what it is."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rca_eval.contract import ArmResult, IncidentResult, Scorecard, display, exact, one_line
from rca_eval.gate.subject import short_ids

SENTINEL = "ScorerOnly: by construction, the answer is planted; a sentinel, no measurement"
HONEST = "LivePath: rank of the true cause, and its margin over the best rival"
COLUMN = 10  # "1 +0.0100" and one more; long ids give way, figures do not
MANY = 50  # from here on one lost incident is within the usual tolerance of 0.02
METRICS = ("AC@1", "Avg@5", "MRR")


def scorecard_table(card: Scorecard) -> RenderableType:
    """Header, LivePath by incident, both arms' metrics, what was lost, and how far to trust it."""
    return Group(*_parts(card))


def _parts(card: Scorecard) -> Iterator[RenderableType]:
    info, measured = card.deterministic.dataset, card.measured
    same = "identical" if measured.repeats.identical else "NOT identical"
    yield Text(
        f"dataset {info.profile} {info.sha256[:12]}, {len(info.incidents)} incidents, revision "
        f"{card.deterministic.revision or '-'}\n"
        f"engine {measured.engine.name} {measured.engine.version}, {measured.repeats.count} repeats, {same}"
    )
    columns = _columns(card)
    live = {
        name: arm
        for name in columns
        for arm in card.deterministic.arms_of(name) or ()
        if arm.arm == "LivePath"
    }
    planted = {
        name: arm
        for name in columns
        for arm in card.deterministic.arms_of(name) or ()
        if arm.arm == "ScorerOnly"
    }
    if live:
        yield Text(f"\n{HONEST}", style="bold")
        yield _incidents(card, columns, live)
        yield from _lost(live, info.incidents)
    else:
        yield Text("LivePath: no incident has an alert, a topology and telemetry", style="yellow")
    yield Text()
    yield _metrics(card, columns, live, planted)
    if planted and live:
        yield Text(f"* {SENTINEL}", style="dim")
    yield Text(trust(len(next(iter(live.values())).incidents) if live else 0), style="dim")


def trust(count: int) -> str:
    """The caveat that belongs under every number of a small set."""
    if count == 0:
        return "Nothing was measured."
    few = count < MANY
    noun = f"incident{'s are' if count > 1 else ' is'} few" if few else "incidents"
    return f"{count} {noun}: one lost is {display(Fraction(1, count))}. No loss here shows no loss here; it does not prove a rate."


def _columns(card: Scorecard) -> list[str]:
    """Variants that ran; one with the modes of an earlier one would only repeat its column."""
    return [variant.name for variant in card.deterministic.variants if variant.same_as is None]


def _incidents(card: Scorecard, columns: list[str], live: dict[str, ArmResult]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    few = len(columns) < 3
    table.add_column("incident", no_wrap=True, overflow="ellipsis", max_width=30 if few else 20)
    table.add_column("true cause", no_wrap=True, overflow="ellipsis", max_width=24 if few else 21)
    for name in columns:
        table.add_column(name, no_wrap=True, justify="right", min_width=COLUMN)
    ids = card.deterministic.dataset.incidents
    for rows in zip(*(live[name].incidents for name in columns if name in live), strict=False):
        first = rows[0]
        name = first.id if few else short_ids([first.id], ids)
        table.add_row(name, ", ".join(first.expected), *(_cell(row) for row in rows))
    return table


def _cell(row: IncidentResult) -> Text:
    if row.status != "Ranked":
        return Text(row.status, style="red")
    rank, margin = row.rank, row.margin()
    text = f"{rank if rank is not None else 'none'}" + (f" {_signed(margin)}" if margin is not None else "")
    return Text(text, style="" if rank == 1 else "bold red")


def _signed(value: Fraction) -> str:
    return ("+" if value >= 0 else "") + display(value, 4)


def _lost(live: dict[str, ArmResult], ids: Sequence[str]) -> Iterator[Text]:
    """One line for each lost incident and what stands at its top instead; variants that agree share it."""
    where: dict[tuple[str, str], list[str]] = {}
    for name, arm in live.items():
        for row in arm.incidents:
            if row.rank != 1:
                order = row.order()
                what = (
                    f"{one_line(order[0])} stands first"
                    if order
                    else one_line(row.error or "nothing was ranked")[:120]
                )
                where.setdefault((row.id, what), []).append(name)
    if where:
        yield Text("\nlost", style="bold red")
    for (incident, what), names in where.items():
        yield Text(f"{short_ids([incident], ids)}: {what} ({', '.join(names)})")


def _metrics(
    card: Scorecard, columns: list[str], live: dict[str, ArmResult], planted: dict[str, ArmResult]
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for metric in METRICS if live else ():
        table.add_row(f"LivePath {metric}", *(_figure(live.get(name), metric) for name in columns))
    times: dict[tuple[str, str], str | None] = {
        (row.variant, row.arm): row.value for row in card.measured.mttr_seconds
    }
    for arm in ("LivePath",) if live else ():
        values = [times.get((name, arm)) for name in columns]
        table.add_row(f"{arm} MTTR, s", *(display(exact(v), 4) if v else "unknown" for v in values))
    if planted and live:
        table.add_row("ScorerOnly AC@1 *", *(_figure(planted.get(name), "AC@1") for name in columns))
    return table


def _figure(arm: ArmResult | None, metric: str) -> str:
    value = arm.metrics.get(metric) if arm else None  # type: ignore[call-overload]
    return display(exact(value)) if value else "-"
