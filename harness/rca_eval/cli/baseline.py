"""`rca-eval baseline write` and `accept`: the committed reference of a dataset, and a lawful change of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.output import check_output, out_json, say, write_text
from rca_eval.contract import IncidentResult, display, exact, one_line, parse_baseline, sha256
from rca_eval.contract.scorecard import SCORECARD_LIMIT
from rca_eval.job.files import read_bytes
from rca_eval.replay import from_scorecard, to_text, with_references
from rca_eval.replay.accept import Change, Proposal, propose

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

REGRESSION = 1
References = Annotated[
    list[Path] | None,
    typer.Option(help="a scorecard whose answers with components Active are committed too; repeatable"),
]


@app.command("write")
def write(
    scorecard: Annotated[Path, typer.Argument(help="a scorecard or the log of its container; - for stdin")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="file; default: stdout")] = None,
    comment: Annotated[str, typer.Option(help="why this is the reference")] = "",
    reference: References = None,
) -> None:
    """Write a baseline with its provenance: engine, revision, dataset digest, every incident's ranking.

    With --reference it also holds a fingerprint of each answer that a scorecard has with components Active (the
    same file may be named); the gate then fails, as ReferenceDrift, when one is not the same any more.
    """
    if output is not None:
        check_output(output)
    baseline = from_scorecard(inputs.scorecard(scorecard), comment=comment)
    _deliver(to_text(with_references(baseline, map(inputs.scorecard, reference or ()))), output)


@app.command("accept")
def accept(  # noqa: PLR0917  (each parameter is an option, named by typer)
    old: Annotated[Path, typer.Argument(help="the baseline that is to be replaced")],
    scorecard: Annotated[Path, typer.Argument(help="a scorecard or the log of its container; - for stdin")],
    reason: Annotated[str, typer.Option(help="why the legacy path may answer otherwise now")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="file; default: stdout")] = None,
    comment: Annotated[str | None, typer.Option(help="replaces the old baseline's comment")] = None,
    policy: Annotated[Path | None, typer.Option(help="a JSON file whose protectedIncidents count")] = None,
    reference: References = None,
) -> None:
    """Accept a lawful change of the answers: the new baseline, with the old one and the reason on record.

    References of active modes are renewed where SCORECARD or --reference measured these modes.

    Exit 1, and nothing is written, if an incident that the old baseline hits is lost or a protected one is
    missed; exit 2 without a reason, for another dataset, and when nothing changed. The differences are printed
    incident by incident, to stderr if the baseline goes to stdout.
    """
    data = read_bytes(old, what="the old baseline", limit=SCORECARD_LIMIT)
    before, rules = parse_baseline(data, source=str(old)), inputs.policy(policy)
    if output is not None:
        check_output(output)
    proposal = propose(
        before,
        sha256(data),
        inputs.scorecard(scorecard),
        reason=reason,
        comment=comment,
        protected=rules.protected_incidents,
        references=[inputs.scorecard(path) for path in reference or ()],
    )
    tell: Callable[[str], object] = say if output is None else typer.echo
    for line in _difference(proposal):
        tell(line)
    if proposal.refused:
        say(_refusal(proposal.refused))
        raise typer.Exit(REGRESSION)
    _deliver(to_text(proposal.baseline), output)


def _deliver(text: str, output: Path | None) -> None:
    if output is None:
        out_json(text)
        return
    write_text(output, text)
    say(f"wrote {output}")


def _difference(proposal: Proposal) -> Iterator[str]:
    for change in proposal.changes:
        was, now = change.before.table, change.after.table
        mark = f", table {was or 'none'} -> {now or 'none'}" if was != now else ""
        mark += f"  {change.refusal}" if change.refusal else ""
        yield (
            f"{change.arm} {change.before.id}: rank {_rank(change.before)} -> {_rank(change.after)}, top "
            f"{_top(change.before)} -> {_top(change.after)}{mark}"
        )
    yield from proposal.drifted
    yield f"{len(proposal.changes)} changed, {proposal.unchanged} unchanged"


def _rank(row: IncidentResult) -> str:
    rank = row.true_rank()
    return row.status.lower() if row.status != "Ranked" else "none" if rank is None else str(rank)


def _top(row: IncidentResult) -> str:
    """What stands first, with its score in full: a change in the ninth digit is a change."""
    if row.status != "Ranked" or not row.candidates:
        return "nothing"
    first = row.candidates[0]
    return one_line(first.key) + (f" {display(exact(first.score), 9)}" if first.score is not None else "")


def _refusal(refused: tuple[Change, ...]) -> str:
    words = {"lost": "hit by the old baseline and lost now", "protected": "protected and missed"}
    parts = []
    for kind, meaning in words.items():
        names = dict.fromkeys(change.before.id for change in refused if change.refusal == kind)
        if names:
            parts.append(f"{', '.join(names)} ({meaning})")
    return f"not accepted: {'; '.join(parts)}; a reference may not lose an incident"
