"""Which clusters are touched at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.cluster import lifecycle
from hack.cluster.cli import main
from hack.cluster.contexts import check_name
from hack.cluster.errors import ClusterError
from hack.cluster.network import first_free_slot, free_ports
from hack.cluster.paths import ClusterPaths, checked_name
from hack.cluster.state import Kind, State, load, save


@pytest.fixture(autouse=True)
def _own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RCA_STATE", f"/tmp/rca-unit-{tmp_path.name[-8:]}")
    monkeypatch.setenv("RCA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RCA_CLUSTER_CONTEXT", raising=False)


@pytest.mark.parametrize("context", ["kind-rca", "minikube", "k3d-x", "rca-local"])
def test_a_context_of_a_local_test_cluster_is_accepted(context: str) -> None:
    check_name(context, allow_unknown=False)


@pytest.mark.parametrize(
    "context", ["production", "kind", "kind-", "my-kind-rca", "minikube2", "gke_a_b_c", ""]
)
def test_any_other_context_is_refused_and_the_way_out_is_named(context: str) -> None:
    with pytest.raises(ClusterError, match="--allow-unknown-cluster"):
        check_name(context, allow_unknown=False)


def test_an_unknown_context_is_accepted_when_a_person_insists() -> None:
    check_name("production", allow_unknown=True)


def test_the_context_of_the_environment_is_refused_just_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RCA_CLUSTER_CONTEXT", "production")
    assert main(["up"]) == 1
    assert "--allow-unknown-cluster" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["rca", "a", "rca-2", "twelve-chars"])
def test_short_plain_names_are_fine(name: str) -> None:
    assert checked_name(name) == name
    assert len(State(name=name, kind=Kind.NODE, context="c").interface) <= 15


@pytest.mark.parametrize("name", ["", "-a", "Rca", "../x", "a/b", "thirteen-char", "2x", "a b"])
def test_a_name_that_would_not_fit_an_interface_or_a_path_is_refused(name: str) -> None:
    with pytest.raises(ClusterError):
        checked_name(name)


def test_a_state_directory_too_long_for_sockets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RCA_STATE", "/tmp/" + "x" * 80)
    with pytest.raises(ClusterError, match="RCA_STATE"):
        ClusterPaths.of("rca")


def test_a_cluster_that_is_not_there_is_absent_and_can_be_taken_down_again_and_again() -> None:
    assert lifecycle.status("never-made").state == "absent"
    lifecycle.down("never-made")
    lifecycle.down("never-made")


def test_the_state_is_read_back_as_it_was_written_and_damage_counts_as_none(tmp_path: Path) -> None:
    paths = ClusterPaths("rca", tmp_path)
    state = State(name="rca", kind=Kind.NODE, context="rca-local", slot=3, api_port=1234)
    save(paths, state)
    assert load(paths) == state
    assert paths.state_file.stat().st_mode & 0o777 == 0o600
    paths.state_file.write_text(paths.state_file.read_text()[:-10])
    assert load(paths) is None


def test_ports_chosen_together_differ() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20


def test_the_first_subnets_that_overlap_with_nothing_are_taken() -> None:
    subnets = [(f"10.213.{slot}.0/24", f"10.214.{slot}.0/24") for slot in range(3)]
    assert first_free_slot(subnets, ["0.0.0.0/0", "192.0.2.0/24"]) == 0
    assert first_free_slot(subnets, ["10.213.0.1"]) == 1
    assert first_free_slot(subnets, ["10.213.0.0/24", "10.214.1.0/25"]) == 2
    assert first_free_slot(subnets, ["10.0.0.0/8"]) is None
