"""The commands, assembled."""

import typer

from rca_eval.cli import (
    ablate,
    baseline,
    compare,
    describe,
    explain,
    gate,
    gate_selftest,
    job,
    judge,
    kpis,
    lint,
    replay,
    serve,
    simulate,
)

app = typer.Typer(
    name="rca-eval",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Replay labelled incidents against an RCA engine, and gate the result: exit 0 pass, 1 regression, 2 invalid.",
)
app.command("replay", short_help="Replay labelled incidents against an engine.")(replay.command)
app.command("gate", short_help="Judge a scorecard.")(gate.command)
app.command("gate-selftest")(gate_selftest.command)
app.command("ablate")(ablate.command)
app.command("compare", short_help="Two measurements of one dataset, side by side.")(compare.command)
app.command("explain", short_help="One incident on one screen.")(explain.command)
app.command("describe", short_help="What a dataset holds, and how hard it is.")(describe.command)
app.command("lint", short_help="Is a dataset fit to decide?")(lint.command)
app.command("judge", short_help="A language model's opinion on a scorecard; advisory.")(judge.command)
app.command("serve")(serve.command)
app.command("simulate")(simulate.command)
app.command("kpis")(kpis.command)
app.add_typer(baseline.app, name="baseline", help="The committed reference of a dataset.")
app.add_typer(job.app, name="job", help="The steps of an eval Job; everything comes from the environment.")
