"""Who declares a key from Git: by every way in which the tools apply, alone, together, and allowed beside us.

The shapes are those that kubectl, Argo CD, Flux and Helm leave on an object (docs/conflicts.md).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from rca_testing.config_maps import target
from rca_testing.evidence import KEY

from rca_rollout.core.managers import ALLOW_ANNOTATION, LAST_APPLIED
from rca_rollout.core.target import TargetView, view_target, write_conflict

ANNOTATED = {"f:metadata": {"f:annotations": {".": {}, f"f:{LAST_APPLIED}": {}}}}


def entry(
    manager: str, operation: str, *keys: str, at: str = "2026-11-30T10:00:00Z", client: bool = False
) -> Any:
    fields: dict[str, Any] = {"f:data": {".": {}, **{f"f:{key}": {} for key in keys}}}
    if client:
        fields |= ANNOTATED
    return {"manager": manager, "operation": operation, "time": at, "fieldsV1": fields}


def applied(*keys: str) -> dict[str, str]:
    """The annotation of a client-side apply that declares these keys."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": dict.fromkeys(keys, "Shadow")}
    return {LAST_APPLIED: json.dumps(body) + "\n"}


def seen(*entries: Any, annotations: dict[str, str] | None = None, gitops: Any = None) -> TargetView:
    body = target()
    body["metadata"]["managedFields"] = list(entries)
    body["metadata"]["annotations"] |= annotations or {}
    found = view_target(body, "modes", KEY, *([gitops] if gitops else []))
    assert isinstance(found, TargetView), found
    return found


GIT = {
    "Argo CD, server-side": ([entry("argocd-controller", "Apply", KEY)], {}),
    "Argo CD, client-side": ([entry("argocd-controller", "Update", KEY, client=True)], applied(KEY)),
    "Argo CD, Replace": ([entry("argocd", "Update", KEY)], {}),
    "Flux": ([entry("kustomize-controller", "Apply", KEY)], {}),
    "Flux's Helm": ([entry("helm-controller", "Apply", KEY)], {}),
    "Helm 3": ([entry("helm", "Update", KEY)], {}),
    "Helm 4": ([entry("helm", "Apply", KEY)], {}),
    "Argo CD, client-side, after our own write": (
        [entry("argocd-controller", "Update", client=True), entry("rca-rollout", "Update", KEY)],
        applied(KEY, "Other.Mode"),
    ),
}
NOBODY = {
    "nobody": ([], {}),
    "kubectl, server-side": ([entry("kubectl", "Apply", KEY)], {}),
    "kubectl, client-side": ([entry("kubectl-client-side-apply", "Update", KEY, client=True)], applied(KEY)),
    "what stood before the first apply": ([entry("before-first-apply", "Update", KEY)], {}),
    "kubectl create": ([entry("kubectl-create", "Update", KEY)], {}),
    "an unknown manager": ([entry("my-pipeline", "Apply", KEY)], {}),
    "ourselves": ([entry("rca-rollout", "Update", KEY)], {}),
    "Argo CD, client-side, without the key": (
        [
            entry("argocd-controller", "Update", "Other.Mode", client=True),
            entry("rca-rollout", "Update", KEY),
        ],
        applied("Other.Mode"),
    ),
    "Flux, without the key": ([entry("kustomize-controller", "Apply", "Other.Mode")], {}),
    "a person's apply beside Argo CD's annotations": (
        [
            entry("argocd-controller", "Update"),
            entry("kubectl-client-side-apply", "Update", KEY, client=True),
        ],
        applied(KEY),
    ),
}


@pytest.mark.parametrize("case", GIT)
def test_a_key_that_comes_from_git_is_not_switched_to_active_and_the_tool_is_named(case: str) -> None:
    entries, annotations = GIT[case]
    view = seen(*entries, annotations=annotations)
    conflict = write_conflict(view, "modes", KEY, towards_active=True)
    assert conflict
    assert (conflict.reason, conflict.stalled) == ("ConfigConflict", True)
    for words in (entries[0]["manager"], "modes", KEY, ALLOW_ANNOTATION, "docs/conflicts.md"):
        assert words in conflict.message
    assert write_conflict(view, "modes", KEY, towards_active=False) is None  # Shadow is always tried


@pytest.mark.parametrize("case", NOBODY)
def test_others_that_wrote_the_key_are_in_nobodys_way(case: str) -> None:
    entries, annotations = NOBODY[case]
    assert write_conflict(seen(*entries, annotations=annotations), "modes", KEY, towards_active=True) is None


@pytest.mark.parametrize("case", GIT)
def test_a_tool_that_was_told_to_ignore_the_key_is_allowed_by_the_annotation(case: str) -> None:
    entries, annotations = GIT[case]
    allowed = {**annotations, ALLOW_ANNOTATION: f"somebody, {entries[0]['manager']} "}
    assert seen(*entries, annotations=allowed).owner is None
    other = {**annotations, ALLOW_ANNOTATION: f"x{entries[0]['manager']},,*"}
    assert seen(*entries, annotations=other).owner == entries[0]["manager"]


def test_of_several_owners_every_tool_that_is_not_allowed_is_named() -> None:
    entries = (
        entry("kustomize-controller", "Apply", KEY),
        entry("argocd-controller", "Apply", KEY),
        entry("kubectl-edit", "Update", KEY, at="2026-11-30T11:00:00Z"),
    )
    view = seen(*entries)
    assert (view.owner, view.manager) == ("argocd-controller, kustomize-controller", "kubectl-edit")
    conflict = write_conflict(view, "modes", KEY, towards_active=True)
    assert conflict
    assert f"{ALLOW_ANNOTATION}=argocd-controller,kustomize-controller" in conflict.message
    one = seen(*entries, annotations={ALLOW_ANNOTATION: "argocd-controller"})
    assert one.owner == "kustomize-controller"


@pytest.mark.parametrize(
    "hands_off",
    [
        {"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"},
        {"kustomize.toolkit.fluxcd.io/ssa": "Ignore"},
        {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"},
    ],
)
def test_what_the_object_says_to_flux_is_about_flux_alone(hands_off: dict[str, str]) -> None:
    assert seen(entry("kustomize-controller", "Apply", KEY), annotations=hands_off).owner is None
    assert seen(entry("argocd-controller", "Apply", KEY), annotations=hands_off).owner == "argocd-controller"


@pytest.mark.parametrize(
    "policy", [{"kustomize.toolkit.fluxcd.io/ssa": "Merge"}, {"kustomize.toolkit.fluxcd.io/ssa": "x"}]
)
def test_a_policy_with_which_flux_still_writes_declared_keys_does_not_help(policy: dict[str, str]) -> None:
    assert (
        seen(entry("kustomize-controller", "Apply", KEY), annotations=policy).owner == "kustomize-controller"
    )


def test_an_installation_names_tools_of_its_own() -> None:
    known = frozenset({"my-pipeline", "kubectl-client-side-apply"})
    assert seen(entry("my-pipeline", "Apply", KEY), gitops=known).owner == "my-pipeline"
    client = entry("kubectl-client-side-apply", "Update", KEY, client=True)
    assert seen(client, annotations=applied(KEY), gitops=known).owner == "kubectl-client-side-apply"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"data": null}', '{"data": 3}', '{"data": []}', "[" * 5000, "1"]
)
def test_an_annotation_that_cannot_be_read_declares_nothing(text: str) -> None:
    view = seen(entry("argocd-controller", "Update", client=True), annotations={LAST_APPLIED: text})
    assert view.owner is None
