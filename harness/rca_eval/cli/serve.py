"""`rca-eval serve`: the reference agent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.contract import ContractError, Reason
from rca_eval.contract.groundtruth import DATASET_LIMIT
from rca_eval.data import ground_truth_bytes
from rca_eval.job.files import read_bytes

if TYPE_CHECKING:
    from rca_eval.serve import Source

CATALOGUE = "catalogue:"


def command(  # noqa: PLR0917  (each parameter is an option, named by typer)
    modes: Annotated[str, typer.Option(help="folder of a mounted ConfigMap, or one JSON or key=value file")],
    store: Annotated[
        str, typer.Option(envvar="RCA_AGENT_STORE", help="embedded, or a URL such as falkor://host:6379")
    ] = "embedded",
    source: Annotated[
        str, typer.Option(help="context of alerts: catalogue:graded, a ground truth file, or none")
    ] = "catalogue:graded",
    database: Annotated[
        str,
        typer.Option(
            envvar="RCA_AGENT_DATABASE",
            help="sqlite:///FILE, or postgresql+psycopg://user:password@host/name",
        ),
    ] = "sqlite:///rca-lifecycles.db",
    listen: Annotated[str, typer.Option(help="address and port; port 0 for a free one")] = "127.0.0.1:8080",
    revision: Annotated[str, typer.Option(help="own revision, for modes such as Active@2026.11.30")] = "",
    workers: Annotated[int, typer.Option(min=1, max=64, help="investigations at a time")] = 2,
    queue: Annotated[int, typer.Option(min=0, max=10000, help="investigations that may wait")] = 16,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600, help="seconds for one investigation")] = 30.0,
    max_body: Annotated[
        int, typer.Option(min=1024, max=64 * 1024 * 1024, help="bytes of a request")
    ] = 4194304,
    body_timeout: Annotated[
        float, typer.Option(min=0.1, max=600, help="seconds for a request to arrive")
    ] = 10.0,
) -> None:
    """Answer alerts with ranked causes, under the modes that are mounted. Advice only: it changes nothing."""
    try:
        from rca_eval.serve import Limits, Settings, check_store, parse_listen, serve  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ContractError(
            Reason.USAGE,
            f"the agent is not installed ({error.name} is missing); install rca-rollout[harness,agent].",
        ) from None
    host, port = parse_listen(listen)
    settings = Settings(
        modes=modes,
        store=check_store(store),
        source=source,
        database=database,
        host=host,
        port=port,
        revision=revision or None,
        limits=Limits(
            workers=workers,
            queue=queue,
            seconds=timeout,
            body_bytes=max_body,
            body_seconds=body_timeout,
            header_seconds=body_timeout,
        ),
    )
    serve(settings, _source(source))


def _source(text: str) -> "Source":
    from rca_eval.serve import NoSource, ground_truth_source  # noqa: PLC0415 - an extra

    if text == "none":
        return NoSource()
    if text.startswith(CATALOGUE):
        profile = inputs.known_profile(text.removeprefix(CATALOGUE))
        return ground_truth_source(ground_truth_bytes(profile), text)
    data = read_bytes(Path(text), what="the source", limit=DATASET_LIMIT)
    return ground_truth_source(data, Path(text).name)
