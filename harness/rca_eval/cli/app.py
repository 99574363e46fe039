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
app.command("replay")(replay.command)
app.command("gate")(gate.command)
app.command("gate-selftest")(gate_selftest.command)
app.command("ablate")(ablate.command)
app.command("compare")(compare.command)
app.command("explain")(explain.command)
app.command("describe")(describe.command)
app.command("lint")(lint.command)
app.command("serve")(serve.command)
app.command("simulate")(simulate.command)
app.command("kpis")(kpis.command)
app.add_typer(baseline.app, name="baseline", help="The committed reference of a dataset.")
app.add_typer(job.app, name="job", help="The steps of an eval Job; everything comes from the environment.")
