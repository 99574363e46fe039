"""Fixtures of the ring with a real node: the API server, and our kinds on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from rca_testing.node import ROOT, Api, Place, eventually, restricted_namespace

from hack import rings

MEASURED = "measured on the node"


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Notes what was measured; shown at the end of the ring, whether or not a test failed."""
    return lambda line: record_property(MEASURED, line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # Properties come along with the reports, from other processes, too. Each report of a test has all that came before.
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    lines = {
        (report.nodeid, line): None
        for report in reports
        for name, line in getattr(report, "user_properties", ())
        if name == MEASURED
    }
    if lines:
        terminalreporter.section(MEASURED)
        for _, line in lines:
            terminalreporter.line(str(line))


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    """The node that `make test` gives, or else one for this session."""
    if "RCA_TEST_KUBECONFIG" in os.environ:
        with closing(Api(Path(os.environ["RCA_TEST_KUBECONFIG"]), Path(os.environ["RCA_TEST_BIN"]))) as made:
            yield made
        return
    try:
        with rings.RINGS["node"]() as environment:
            os.environ.update(environment)
            with closing(
                Api(Path(environment["RCA_TEST_KUBECONFIG"]), Path(environment["RCA_TEST_BIN"]))
            ) as made:
                yield made
    except rings.UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def kinds(api: Api) -> Iterator[None]:
    """Our kinds, for the releases that do not bring them; gone afterwards if they were not there before, as they are when
    `make test` has made them for all files of the ring."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    group = "rca.bluerobin.io"

    def present() -> list[str]:
        items = api.request("GET", path).json()["items"]
        return [item["metadata"]["name"] for item in items if item["spec"]["group"] == group]

    before = present()
    api.run("kubectl", "apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))

    def served() -> None:
        for plural in ("evalruns", "evalsuites", "rcacomponents"):
            assert api.request("GET", f"/apis/{group}/v1alpha1/{plural}").status_code == 200

    eventually(served, seconds=30)
    yield
    for name in set(present()) - set(before):
        api.request("DELETE", f"{path}/{name}")


@pytest.fixture(scope="module")
def place(api: Api, kinds: None) -> Iterator[Place]:
    with restricted_namespace(api) as made:
        yield made
