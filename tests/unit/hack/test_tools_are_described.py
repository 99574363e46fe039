"""go.mod files, linker flags, versions and command lines: what is handed to other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.cluster import cgroups, controlplane, nodeconfig, recipes
from hack.cluster.errors import ClusterError
from hack.cluster.golang import go_version
from hack.cluster.gomod import go_mod, kubernetes_ldflags, staging_modules, staging_version
from hack.cluster.paths import ClusterPaths
from hack.cluster.recipes import binary_name
from hack.cluster.state import Kind, State
from hack.cluster.tools import acceptable, select

KUBERNETES_GO_MOD = """\
module k8s.io/kubernetes

require (
\tk8s.io/api v0.0.0
\tk8s.io/klog/v2 v2.130.1
)

replace (
\tk8s.io/api => ./staging/src/k8s.io/api
\tk8s.io/client-go => ./staging/src/k8s.io/client-go
)
replace k8s.io/cri-api => ./staging/src/k8s.io/cri-api
replace example.com/fork => example.com/other v1.0.0
"""


def test_the_staging_modules_are_read_from_kubernetes_own_go_mod() -> None:
    assert staging_modules(KUBERNETES_GO_MOD) == ["k8s.io/api", "k8s.io/client-go", "k8s.io/cri-api"]


def test_staging_modules_carry_the_version_of_their_release() -> None:
    assert staging_version("v1.36.3") == "v0.36.3"
    with pytest.raises(ValueError, match="no Kubernetes version"):
        staging_version("1.36")


def test_a_go_mod_names_the_commands_and_replaces_the_staging_modules() -> None:
    text = go_mod(
        name="x/tools",
        go="1.26.0",
        requires={"k8s.io/kubernetes": "v1.36.3"},
        tools=["k8s.io/kubernetes/cmd/kubelet"],
        replaces={"k8s.io/api": "v0.36.3"},
    )
    assert text.splitlines() == [
        "module x/tools",
        "",
        "go 1.26.0",
        "",
        "require k8s.io/kubernetes v1.36.3",
        "",
        "tool k8s.io/kubernetes/cmd/kubelet",
        "",
        "replace k8s.io/api => k8s.io/api v0.36.3",
    ]


def test_the_binaries_are_told_their_version_in_both_places_that_are_asked() -> None:
    flags = kubernetes_ldflags("v1.36.3", commit="abc", built="2026-01-01T00:00:00Z").split()
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        assert f"{package}.gitVersion=v1.36.3" in flags
        assert f"{package}.gitMinor=36" in flags


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("k8s.io/kubernetes/cmd/kubelet", "kubelet"),
        ("go.etcd.io/etcd/server/v3", "etcd"),
        ("github.com/containerd/containerd/v2/cmd/ctr", "ctr"),
        ("helm.sh/helm/v4/cmd/helm", "helm"),
        ("sigs.k8s.io/kind", "kind"),
    ],
)
def test_a_command_is_called_by_the_name_people_know(package: str, name: str) -> None:
    assert binary_name(package) == name


@pytest.mark.parametrize(
    ("recipe", "version", "verdict"),
    [
        (recipes.KUBECTL, "v1.36.0", True),
        (recipes.KUBECTL, "v1.35.9", True),
        (recipes.KUBECTL, "v1.34.9", False),
        (recipes.KUBECTL, "v1.36.3-dispatcher", False),
        (recipes.KUBECTL, "v2.36.3", False),
        (recipes.HELM, "v4.3.1", True),
        (recipes.HELM, "v3.19.0", False),
        (recipes.HELM, "v4.0.0", False),
        (recipes.HELM, "nonsense", False),
    ],
)
def test_a_tool_on_path_stands_in_only_when_its_version_fits(
    recipe: recipes.Recipe, version: str, verdict: bool
) -> None:
    assert acceptable(recipe, version) is verdict


def test_tools_are_chosen_by_set_or_by_binary_and_a_wrong_name_lists_the_right_ones() -> None:
    assert select(["etcd", "kube-apiserver", "helm"]) == (recipes.CONTROL_PLANE, recipes.HELM)
    with pytest.raises(ClusterError, match="kubeconform"):
        select(["kubectll"])


def test_recipes_that_differ_have_cache_entries_that_differ() -> None:
    assert len({recipe.key for recipe in recipes.ALL}) == len(recipes.ALL)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26)),
        ("go version go1.27rc1 linux/arm64", (1, 27)),
        ("?", None),
    ],
)
def test_the_go_version_is_read(text: str, version: tuple[int, int] | None) -> None:
    assert go_version(text) == version


def _state(kind: Kind) -> State:
    return State(name="rca", kind=kind, context="rca-local", slot=2, api_port=7001, etcd_port=7002)


def test_a_control_plane_alone_listens_on_loopback_only(tmp_path: Path) -> None:
    lines = _command_lines(tmp_path, Kind.CONTROL_PLANE)
    assert "--bind-address=127.0.0.1" in lines["kube-apiserver"]
    assert "--endpoint-reconciler-type=none" in lines["kube-apiserver"]
    assert list(lines) == list(controlplane.NAMES)


def test_with_a_node_the_api_server_listens_on_the_nodes_cable_only(tmp_path: Path) -> None:
    line = _command_lines(tmp_path, Kind.NODE)["kube-apiserver"]
    assert "--bind-address=10.213.2.1" in line
    assert "--advertise-address=10.213.2.1" in line
    assert "--kubelet-preferred-address-types=InternalIP" in line
    assert not any("0.0.0.0" in argument for argument in line)


def _command_lines(root: Path, kind: Kind) -> dict[str, list[str]]:
    paths, state = ClusterPaths("rca", root), _state(kind)
    identities = controlplane.issue(paths, state)
    return dict(controlplane.commands(paths, state, identities, Path("/bin")))


def test_kubelet_neither_evicts_nor_collects_images_and_stays_in_its_cgroup(tmp_path: Path) -> None:
    paths, state = ClusterPaths("rca", tmp_path), _state(Kind.NODE)
    identities = controlplane.issue(paths, state)
    config = nodeconfig.kubelet(paths, state, identities.authority, identities.server)
    assert config["imageGCHighThresholdPercent"] == 100
    assert config["cgroupRoot"] == f"/{cgroups.group('rca')}"
    assert config["failCgroupV1"] is False


def test_cgroup_trees_are_found_in_both_versions(tmp_path: Path) -> None:
    one, two = tmp_path / "v1", tmp_path / "v2"
    for controller in ("cpu", "memory"):
        (one / controller).mkdir(parents=True)
        (one / controller / "cgroup.procs").touch()
    (one / "not-a-tree").mkdir()
    two.mkdir()
    (two / "cgroup.controllers").touch()
    assert cgroups.trees(one) == [one / "cpu", one / "memory"]
    assert cgroups.trees(two) == [two]
    assert cgroups.trees(tmp_path / "none") == []
