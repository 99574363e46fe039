"""Who owns a key, as a real API server records it, for every way in which people and tools apply. See docs/conflicts.md.

Argo CD, Flux and Helm are played by kubectl under their field managers: what the server records depends on nothing else.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from rca_testing.cluster import Cluster, KubectlError

from rca_rollout.core.managers import ALLOW_ANNOTATION
from rca_rollout.core.names import KEYS_ANNOTATION, WATCH_LABEL
from rca_rollout.core.target import TargetView, view_target, write_conflict, write_patch

pytestmark = pytest.mark.cluster

KEY = "RcaMemory.Mode"
CLIENT = ("apply",)
SERVER = ("apply", "--server-side", "--force-conflicts")


class Place:
    """One ConfigMap in a namespace of a real cluster."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._where = ("-n", namespace)

    def send(self, verb: tuple[str, ...], manager: str, data: dict[str, str], **annotations: str) -> None:
        """kubectl sends the whole ConfigMap, as this manager."""
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "modes",
                "labels": {WATCH_LABEL: "Enabled"},
                "annotations": {KEYS_ANNOTATION: KEY, **annotations},
            },
            "data": data,
        }
        self.run(*verb, f"--field-manager={manager}", "-f", "-", input=json.dumps(body))

    def run(self, *words: str, **more: Any) -> str:
        return self._cluster.kubectl(*self._where, *words, **more)

    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            self.run("get", "cm", "modes", "-o", "json", "--show-managed-fields")
        )
        return found

    def view(self) -> TargetView:
        found = view_target(self.body(), "modes", KEY)
        assert isinstance(found, TargetView), found
        return found

    def write(self, value: str, view: TargetView | None = None) -> None:
        """As the operator writes."""
        patch = json.dumps(write_patch(view or self.view(), KEY, value))
        self.run("patch", "cm", "modes", "--type=json", "--field-manager=rca-rollout", "-p", patch)

    def annotate(self, text: str) -> None:
        self.run("annotate", "cm", "modes", "--overwrite", text)

    @property
    def value(self) -> str | None:
        found: str | None = (self.body().get("data") or {}).get(KEY)
        return found


@pytest.fixture
def place(cluster: Cluster, namespace: str) -> Place:
    return Place(cluster, namespace)


@pytest.mark.parametrize(
    ("verb", "manager"),
    [
        (SERVER, "argocd-controller"),
        (CLIENT, "argocd-controller"),
        (("create",), "argocd"),
        (SERVER, "kustomize-controller"),
        (SERVER, "helm-controller"),
        (("create",), "helm"),
        (SERVER, "helm"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[:2]),
)
def test_a_key_that_a_tool_declares_is_seen_to_be_so_until_it_is_allowed(
    place: Place, verb: tuple[str, ...], manager: str
) -> None:
    place.send(verb, manager, {KEY: "Shadow", "Other.Mode": "Shadow"})
    view = place.view()
    assert (view.owner, view.manager) == (manager, manager)
    assert write_conflict(view, "modes", KEY, towards_active=True)
    assert write_conflict(view, "modes", KEY, towards_active=False) is None
    place.annotate(f"{ALLOW_ANNOTATION}={manager}")
    assert place.view().owner is None
    place.write("Active")
    assert place.value == "Active"
    assert place.view().manager == "rca-rollout"


@pytest.mark.parametrize("verb", [SERVER, CLIENT], ids=["server-side", "client-side"])
@pytest.mark.parametrize("manager", ["argocd-controller", "kustomize-controller", "helm"])
def test_a_key_that_a_tool_does_not_declare_is_written_and_stays_when_the_tool_applies_again(
    place: Place, verb: tuple[str, ...], manager: str
) -> None:
    place.send(verb, manager, {"Other.Mode": "Shadow"})
    assert place.view().owner is None
    place.write("Active")
    place.send(verb, manager, {"Other.Mode": "Active"})
    assert (place.value, place.view().owner, place.view().manager) == ("Active", None, "rca-rollout")


@pytest.mark.parametrize(
    ("verb", "manager"),
    [
        (CLIENT, "kubectl-client-side-apply"),
        (SERVER, "kubectl"),
        (("create",), "kubectl-create"),
        (SERVER, "my-pipeline"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[:2]),
)
def test_what_a_person_or_an_unknown_tool_applied_is_in_nobodys_way_unless_it_is_named(
    place: Place, verb: tuple[str, ...], manager: str
) -> None:
    place.send(verb, manager, {KEY: "Shadow"})
    assert (place.view().owner, place.view().manager) == (None, manager)
    named = view_target(place.body(), "modes", KEY, {manager})
    assert isinstance(named, TargetView)
    assert named.owner == manager


def test_what_stood_there_before_the_first_server_side_apply_belongs_to_nobody(place: Place) -> None:
    place.send(("create",), "kubectl-create", {KEY: "Shadow"})
    place.run("patch", "cm", "modes", "--type=merge", "-p", '{"metadata": {"managedFields": [{}]}}')
    place.send(SERVER, "kubectl", {"Other.Mode": "Shadow"})
    managers = {entry["manager"] for entry in place.body()["metadata"]["managedFields"]}
    assert "before-first-apply" in managers
    assert place.view().owner is None
    place.write("Active")
    assert place.value == "Active"


def test_of_several_tools_all_are_named(place: Place) -> None:
    place.send(SERVER, "kustomize-controller", {KEY: "Shadow"})
    place.send(SERVER, "argocd-controller", {KEY: "Shadow"})
    assert place.view().owner == "argocd-controller, kustomize-controller"
    place.annotate(f"{ALLOW_ANNOTATION}=argocd-controller")
    assert place.view().owner == "kustomize-controller"


def test_a_write_takes_the_key_from_a_server_side_owner_who_is_seen_again_with_its_next_apply(
    place: Place,
) -> None:
    place.send(SERVER, "kustomize-controller", {KEY: "Active"})
    place.write("Shadow")
    assert (place.view().owner, place.view().manager) == (None, "rca-rollout")
    place.send(SERVER, "kustomize-controller", {KEY: "Active"})
    assert (place.value, place.view().owner) == ("Active", "kustomize-controller")


def test_a_write_does_not_hide_a_client_side_owner(place: Place) -> None:
    place.send(CLIENT, "argocd-controller", {KEY: "Active"})
    place.write("Shadow")
    assert (place.view().owner, place.view().manager) == ("argocd-controller", "rca-rollout")
    place.send(CLIENT, "argocd-controller", {})
    assert place.value is None  # taken out of Git, the key goes, and with it what was in the way
    assert place.view().owner is None


def test_an_apply_without_force_names_the_operator_and_changes_nothing(place: Place) -> None:
    place.send(SERVER, "kubectl", {KEY: "Shadow"})
    place.write("Active")
    with pytest.raises(KubectlError, match="rca-rollout"):
        place.send(("apply", "--server-side"), "kubectl", {KEY: "Shadow"})
    assert place.value == "Active"


def test_a_write_that_was_decided_on_another_value_or_another_object_changes_nothing(place: Place) -> None:
    place.send(("create",), "kubectl-create", {KEY: "Shadow"})
    old = place.view()
    place.run("patch", "cm", "modes", "--type=merge", "-p", json.dumps({"data": {KEY: "Off"}}))
    with pytest.raises(KubectlError):
        place.write("Active", old)
    assert place.value == "Off"
    place.run("delete", "cm", "modes")
    with pytest.raises(KubectlError):
        place.write("Active", old)
    assert not place.run("get", "cm", "modes", "--ignore-not-found")
    place.send(("create",), "kubectl-create", {KEY: "Shadow"})
    with pytest.raises(KubectlError):
        place.write("Active", old)
    assert place.value == "Shadow"


def test_an_immutable_config_map_refuses_what_the_operator_does_not_try(place: Place) -> None:
    place.send(("create",), "kubectl-create", {KEY: "Shadow"})
    place.run("patch", "cm", "modes", "--type=merge", "-p", '{"immutable": true}')
    for towards_active in (True, False):
        conflict = write_conflict(place.view(), "modes", KEY, towards_active=towards_active)
        assert conflict
        assert conflict.reason == "TargetImmutable"
    with pytest.raises(KubectlError, match="immutable"):
        place.write("Active")
