"""Fixtures of the ring with a real API server."""

from collections.abc import Callable, Iterator

import pytest
from rca_testing.cluster import Cluster, fresh_namespace, installed_crds, running_cluster
from rca_testing.machine import Machine
from rca_testing.worlds import Worlds


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as running:
        yield running


@pytest.fixture(scope="module")
def crds(cluster: Cluster) -> Iterator[None]:
    """Our CRDs, for a module. Removed after it, since other modules install them with the chart."""
    with installed_crds(cluster):
        yield


@pytest.fixture(scope="session")
def machine(cluster: Cluster) -> Iterator[Machine]:
    """A node that runs Jobs as scripts say."""
    with Machine(cluster.kubeconfig).running() as running:
        yield running


@pytest.fixture(scope="module")
def worlds(
    cluster: Cluster, machine: Machine, crds: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worlds]:
    """Operators with all that they work on, several at a time."""
    with Worlds(cluster, machine, tmp_path_factory.mktemp("worlds")).running() as running:
        yield running


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    with fresh_namespace(cluster) as name:
        yield name


_FIGURES: list[str] = []


@pytest.fixture
def figure() -> Callable[[str], None]:
    """Notes what was measured; shown at the end of the ring, whether or not a test failed."""
    return _FIGURES.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _FIGURES:
        terminalreporter.section("measured on the API server")
        for line in _FIGURES:
            terminalreporter.line(line)
