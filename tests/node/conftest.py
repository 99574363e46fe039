"""Fixtures of the ring with a real node: the API server, and our kinds on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from rca_testing.node import ROOT, Api, Place, eventually, restricted_namespace

from hack import rings

_FIGURES: list[str] = []


@pytest.fixture
def figure() -> Callable[[str], None]:
    """Notes what was measured; shown at the end of the ring, whether or not a test failed."""
    return _FIGURES.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _FIGURES:
        terminalreporter.section("measured on the node")
        for line in _FIGURES:
            terminalreporter.line(line)


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
    """Our kinds, for the releases that do not bring them; gone afterwards if they were not there before."""
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
