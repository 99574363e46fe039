"""`rca-eval kpis`: MTTD, MTTA, MTTC and MTTR of the recorded incidents."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from rca_eval.cli.output import Format, show, show_json
from rca_eval.contract import ContractError, Reason, display, exact, one_line

if TYPE_CHECKING:
    from rca_eval.kpis import Report


def command(
    database: Annotated[
        str,
        typer.Option(
            envvar="RCA_AGENT_DATABASE",
            help="sqlite:///FILE, or postgresql+psycopg://user:password@host/name",
        ),
    ],
    since: Annotated[str, typer.Option(help="fired at or after this time, e.g. 2026-11-30")] = "",
    until: Annotated[str, typer.Option(help="fired before this time")] = "",
    fault_class: Annotated[str, typer.Option("--class", help="of this fault class only")] = "",
    format: Annotated[Format, typer.Option(help="table or json")] = Format.TABLE,
) -> None:
    """How long detection, acknowledgement, conclusion and resolution took, with what is lacking."""
    try:
        from rca_eval.kpis import open_lifecycles, parse_time  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ContractError(
            Reason.USAGE, f"the record of incidents needs {error.name}; install rca-rollout[agent]."
        ) from None
    first = parse_time(since, source="--since") if since else None
    last = parse_time(until, source="--until") if until else None
    with open_lifecycles(
        database, create=False
    ) as store:  # a report of a database that is not there would be empty
        report = store.kpis(since=first, until=last, fault_class=fault_class or None)
    if format is Format.JSON:
        show_json(report.plain())
    else:
        _table(report)


def _table(report: "Report") -> None:
    plain = report.plain()
    chosen = [f"{name} {one_line(plain[name])}" for name in ("since", "until", "class") if plain[name]]
    of = f" ({', '.join(chosen)})" if chosen else ""
    show(
        Text(
            f"{plain['incidents']} incidents{of}: {plain['open']} open, {plain['unclassified']} without a class"
        )
    )
    table = Table(box=None, pad_edge=False)
    for name in ("KPI", "P50", "P95", "MEAN", "N", "LACKING"):
        table.add_column(name, justify="left" if name == "KPI" else "right")
    table.add_column("FORMULA (SECONDS)")
    for kpi in plain["kpis"]:
        figures = [
            display(exact(kpi[name])) if kpi[name] is not None else "-" for name in ("p50", "p95", "mean")
        ]
        table.add_row(kpi["name"], *figures, str(kpi["n"]), str(kpi["lacking"]), kpi["formula"])
    show(table)
    show(Text(f"Percentiles: {plain['percentile']}. - means that there is no value, not 0."))
