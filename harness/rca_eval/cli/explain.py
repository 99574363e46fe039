"""`rca-eval explain`: one incident on one screen."""

from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.output import Format, say, show, show_json
from rca_eval.cli.reports import DatasetOption, ProfileOption, known_truth
from rca_eval.contract import Baseline, ContractError, Reason, Scorecard, shown
from rca_eval.gate import GateContext, GatePolicy
from rca_eval.gate.subject import Subject
from rca_eval.replay import bundled_for
from rca_eval.report.build import side_of
from rca_eval.report.explain_table import explain_table
from rca_eval.report.explanation import Explanation, explanation
from rca_eval.report.rows import Pair, pairs

AT_ONCE = 10


def command(  # noqa: PLR0917  (each parameter is an option, named by typer)
    scorecard: Annotated[Path, typer.Option(help="a scorecard or the log of its container; - for stdin")],
    incident: Annotated[
        list[str] | None, typer.Argument(help="ids or their beginnings, e.g. GT-03; default: what was lost")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="default: the bundled one of the same dataset")
    ] = None,
    dataset: DatasetOption = None,
    profile: ProfileOption = None,
    variant: Annotated[
        str, typer.Option(help="With, Without or AllShadow; default: what the gate judges")
    ] = "",
    arm: Annotated[str, typer.Option(help="LivePath or ScorerOnly")] = "LivePath",
    format: Annotated[Format, typer.Option(help="table or json")] = Format.TABLE,
) -> None:
    """What the engine saw, how it ranked, why the cause is where it is, and what would have to change.

    Exit 0, or 2 if there is nothing to explain it with. Without the dataset all but the incident itself is told.
    """
    card = inputs.scorecard(scorecard)
    info = card.deterministic.dataset
    reference = inputs.baseline(baseline) if baseline else bundled_for(info.sha256)
    truth = known_truth(info, dataset, profile)
    found = _pairs(card, reference, variant, arm)
    chosen = _chosen(found, incident or [])
    stories = [explanation(pair, card, truth) for pair in chosen[:AT_ONCE]]
    if format is Format.JSON:
        show_json(
            {"explanations": [story.plain() for story in stories], "notShown": len(chosen) - len(stories)}
        )
        return
    _show(stories, total=len(chosen), compared=reference is not None)


def _show(stories: list[Explanation], *, total: int, compared: bool) -> None:
    if not stories:
        say("nothing was lost; name an incident to have it explained")
    if not compared:
        say("there is no baseline, so nothing is said about what changed; give one with --baseline")
    for position, story in enumerate(stories):
        if position:
            show("")
        show(explain_table(story))
    if total > len(stories):
        say(f"{total - len(stories)} more; name them to see them")


def _pairs(card: Scorecard, reference: Baseline | None, variant: str, arm: str) -> list[Pair]:
    present = [one.name for one in card.deterministic.variants]
    subject = Subject(card, reference, GatePolicy(), GateContext(component="With" in present))
    name = variant or subject.candidate_name
    if name not in present:
        raise ContractError(
            Reason.USAGE, f"--variant is {shown(name)}; the scorecard has {', '.join(present) or 'none'}."
        )
    side = side_of(subject, name, arm)
    if side is None:
        there = ", ".join(subject.arms(name)) or "none"
        raise ContractError(Reason.USAGE, f"--arm is {shown(arm)}; {name} has {there}.")
    return list(pairs(side))


def _chosen(found: list[Pair], wanted: list[str]) -> list[Pair]:
    """By id or its beginning, as `replay --only`; without any, what was lost."""
    if not wanted:
        return [pair for pair in found if pair.outcome == "Lost"]
    chosen: list[Pair] = []
    for name in wanted:
        exact = [pair for pair in found if pair.now.id == name]
        begin = (f"{name}-", f"{name}_", f"{name}.")
        matching = exact or [pair for pair in found if name and pair.now.id.startswith(begin)]
        if not matching:
            known = ", ".join(pair.now.id for pair in found[:9])
            raise ContractError(
                Reason.USAGE, f"{shown(name)} is no incident of the scorecard; it has {known}."
            )
        chosen += [pair for pair in matching if pair not in chosen]
    return chosen
