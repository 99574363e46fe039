"""`rca-eval replay`: the eval Job on this machine."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.output import check_output, progress, say, show, show_json, write_text
from rca_eval.cli.reports import FormatOption, ReportOption, emit, emit_files, held, orders, sources_of
from rca_eval.contract import ContractError, Reason, Scorecard, canonical
from rca_eval.contract.dealing import MAX_SHARDS
from rca_eval.engine import parse_blend, parse_without
from rca_eval.gate import GateContext, evaluate
from rca_eval.replay import (
    BATCH,
    DEFAULT_COMPONENT,
    REFERENCE_ENGINE,
    Plan,
    bundled_for,
    parse_modes,
    replay,
    variants,
)
from rca_eval.report import scorecard_table
from rca_eval.report.build import gate_report
from rca_eval.report.render import ReportFormat

MAX_TIMEOUT = 86400


def command(  # noqa: PLR0917  (each parameter is an option, named by typer)
    profile: Annotated[str, typer.Option(help="bundled incidents: graded, seed or headroom")] = "graded",
    dataset: Annotated[Path | None, typer.Option(help="ground truth file, instead of a profile")] = None,
    component: Annotated[
        str, typer.Option(help="mode key to judge: With = this one Active; `none` for a batch run")
    ] = DEFAULT_COMPONENT,
    mode: Annotated[
        list[str] | None, typer.Option(help="KEY=Active of another component; repeatable")
    ] = None,
    engine: Annotated[str, typer.Option(help="any command that speaks protocol 1")] = "",
    blend: Annotated[str, typer.Option(help="reference engine: topo=.75,tele=.10,hist=.15")] = "",
    without_term: Annotated[str, typer.Option(help="reference engine: leave out chg or baro")] = "",
    revision: Annotated[str, typer.Option(help="what is measured, e.g. a commit")] = "local",
    repeat: Annotated[int, typer.Option(min=1, max=20, help="engine processes; they must agree")] = 2,
    shards: Annotated[
        int, typer.Option(min=1, max=MAX_SHARDS, help="replay in so many parts, and merge them as a Job does")
    ] = 1,
    store: Annotated[str, typer.Option(help="embedded, or a URL such as falkor://host:6379")] = "embedded",
    only: Annotated[list[str] | None, typer.Option(help="an incident, e.g. GT-03; repeatable")] = None,
    skip_drafts: Annotated[
        bool, typer.Option("--skip-drafts", help="leave out incidents whose label is draft or disputed")
    ] = False,
    timeout: Annotated[int, typer.Option(min=1, max=MAX_TIMEOUT, help="seconds for each repeat")] = 600,
    output: Annotated[Path | None, typer.Option(help="write the scorecard to this file")] = None,
    gate: Annotated[bool, typer.Option("--gate", help="judge it too; exit 1 on a regression")] = False,
    baseline: Annotated[Path | None, typer.Option(help="for --gate; default: the bundled one")] = None,
    policy: Annotated[Path | None, typer.Option(help="for --gate: a JSON file of tolerances")] = None,
    format: FormatOption = ReportFormat.TABLE,
    report: ReportOption = None,
) -> None:
    """Replay labelled incidents: both arms, every variant, two processes that must agree.

    With --gate the verdict is the exit status, and --format and --report give its report; without it they can be
    table or json only, for there is no verdict.
    """
    if not gate and (report or format not in (ReportFormat.TABLE, ReportFormat.JSON)):
        raise ContractError(Reason.USAGE, "--report, junit, markdown and html show a verdict; add --gate.")
    if engine and (blend or without_term):
        raise ContractError(
            Reason.USAGE, "--blend and --without-term are of the reference engine; leave out --engine."
        )
    data, source = inputs.dataset(profile, dataset)
    plan = Plan(
        dataset=data,
        source=source,
        variants=variants(component, parse_modes(mode or [])),
        revision=revision,
        engine=_command(engine),
        settings=_settings(blend, without_term),
        repeats=repeat,
        store=store,
        only=only or [],
        timeout_seconds=timeout,
        folder=dataset.parent if dataset else None,
        skip_drafts=skip_drafts,
        shards=shards,
    )
    if skip_drafts:
        say(inputs.left_out(data, source))
    rules, reference = inputs.policy(policy), inputs.baseline(baseline) if baseline else None
    if output is not None:
        check_output(output)
    ordered = orders(report, output)
    with progress() as on_step:
        card = replay(plan, on_step)
    if output is not None:
        write_text(output, canonical(card).decode() + "\n")
    if not gate:
        _show_scorecard(card, format)
        return
    reference = reference or bundled_for(card.deterministic.dataset.sha256)
    context = GateContext(component=component != BATCH, revision=revision)
    verdict = evaluate(card, reference, rules, context)
    info = card.deterministic.dataset
    truth = held(data, source, dataset, info)
    built = gate_report(
        card,
        reference,
        verdict,
        truth=truth,
        policy=rules,
        context=context,
        sources=sources_of(info, truth, scorecard=output, baseline=baseline, dataset=dataset),
    )
    if format is ReportFormat.JSON:
        emit_files(built, verdict, ordered)
        show_json({"gate": verdict.plain(), "scorecard": card.plain(), "report": built.plain()})
    else:
        if format is ReportFormat.TABLE:
            show(scorecard_table(card))
            show("")
        emit(built, verdict, format, ordered)
    raise typer.Exit(verdict.exit_code)


def _show_scorecard(card: Scorecard, form: ReportFormat) -> None:
    if form is ReportFormat.JSON:
        show_json(card.plain())
    else:
        show(scorecard_table(card))


def _command(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text)) if text else REFERENCE_ENGINE
    except ValueError as error:
        raise ContractError(
            Reason.USAGE, f"--engine cannot be read as a command ({error}); check its quotes."
        ) from None


def _settings(blend: str, without_term: str) -> dict[str, str]:
    """The engine's own settings; read here once so that a typing error is told before anything runs."""
    if blend:
        parse_blend(blend)
    if without_term:
        parse_without(without_term)
    given = {"RCA_ENGINE_BLEND": blend, "RCA_ENGINE_WITHOUT": without_term}
    return {name: value for name, value in given.items() if value}
