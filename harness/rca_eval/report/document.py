"""The one model of a report. Every format renders it and adds no fact of its own.

Figures are strings of nine digits, as in the scorecard; null where there is none. Texts of others (engines,
datasets) have been made harmless: one line, printable, cut.
"""

from typing import Literal

from rca_eval.contract import Figure, Model

Outcome = Literal["Lost", "Fixed", "Kept", "StillMissed"]
Against = Literal["Baseline", "Without", "Reference"]


class Verdict(Model):
    """The sentence is the gate's: the same in the condition, the Event and every format."""

    verdict: str
    reason: str
    message: str
    exit_code: int


class ChangeRow(Model):
    """One thing that differs from the reference: would it alone bring the cause back? `size` is in points of score."""

    kind: str
    name: str
    text: str
    size: Figure | None
    restores: bool


class Why(Model):
    """`sentence` is null where there is nothing to explain. `weights` are weights that one ratio says were changed."""

    sentence: str | None
    tried: int = 0
    weights: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class TermRow(Model):
    """A term of the cause and of the winner, weighted; the old values where they differ from the new ones."""

    term: str
    cause: Figure | None
    winner: Figure | None
    cause_was: Figure | None
    winner_was: Figure | None


class Mark(Model):
    """A moment in seconds from the onset; `outside` when it lies beyond the window and changes nothing."""

    what: str
    at: int
    outside: bool = False


class Timeline(Model):
    """`first` is where the window begins (negative), `last` where the picture ends; seconds from the onset."""

    first: int
    last: int
    marks: tuple[Mark, ...]


class LostRow(Model):
    """An incident that the reference had and the candidate has not."""

    variant: str
    arm: str
    id: str
    fault_class: str
    protected: bool
    against: Against
    status: str
    error: str | None
    expected: tuple[str, ...]
    cause: str
    winner: str | None
    rank_was: int | None
    rank_now: int | None
    table_was: str | None
    table_now: str | None
    margin_was: Figure | None
    margin_now: Figure | None
    terms: tuple[TermRow, ...]
    total: TermRow | None
    changes: tuple[ChangeRow, ...]
    note: str | None
    timeline: Timeline | None = None


class IncidentRow(Model):
    """An incident of an arm in one line."""

    variant: str
    arm: str
    id: str
    fault_class: str
    protected: bool
    outcome: Outcome
    status: str
    error: str | None
    expected: tuple[str, ...]
    first: str | None
    rank_was: int | None
    rank_now: int | None
    margin_was: Figure | None
    margin_now: Figure | None
    seconds: Figure | None


class CheckRow(Model):
    name: str
    arm: str | None
    against: str | None
    result: str
    message: str


class MetricRow(Model):
    variant: str
    arm: str
    metric: str
    was: Figure | None
    now: Figure | None


class Ranker(Model):
    name: str
    accuracy: Figure


class StatisticRow(Model):
    """What the numbers of discordant incidents can show: b was lost, c was fixed."""

    arm: str
    against: str
    incidents: int
    lost: int
    fixed: int
    exact_p: Figure | None
    sentence: str


class ClassRow(Model):
    fault_class: str
    arm: str
    incidents: int
    hits: int
    hits_was: int | None


class Context(Model):
    """What the numbers mean. `caveats` belong under every format.

    `chance` is AC@1 of a random order of what the alert reaches, `lift` = AC@1 - chance, `retrieval` the share of the
    causes that were candidates at all. Chance, lift and rankers are null without the dataset.
    """

    arm: str
    incidents: int
    accuracy: Figure | None
    accuracy_was: Figure | None
    chance: Figure | None
    lift: Figure | None
    retrieval: Figure | None
    resolution: Figure | None
    rankers: tuple[Ranker, ...] | None
    statistics: tuple[StatisticRow, ...] = ()
    classes: tuple[ClassRow, ...] = ()
    caveats: tuple[str, ...] = ()


class Fact(Model):
    name: str
    value: str


class Report(Model):
    """Blocks in the order in which they are read: verdict, why, lost, near, checks, context, run, next."""

    schema_version: Literal[1] = 1
    kind: Literal["GateReport", "Comparison"] = "GateReport"
    verdict: Verdict
    why: Why
    lost: tuple[LostRow, ...]
    near: tuple[IncidentRow, ...]
    fixed: tuple[str, ...]
    still_missed: tuple[str, ...]
    unchanged: int
    incidents: tuple[IncidentRow, ...]
    checks: tuple[CheckRow, ...]
    metrics: tuple[MetricRow, ...]
    context: Context
    run: tuple[Fact, ...]
    next: tuple[str, ...]
