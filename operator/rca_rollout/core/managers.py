"""Who else writes a key, as far as its ConfigMap tells: field managers, and what a client-side apply left behind.

A GitOps tool that declares a key undoes what we write to it, at once (Argo CD), at its interval (Flux) or at the next release
(Helm). Server-side apply shows in the managed fields until somebody else writes the key; client-side apply shows in the
annotation that it keeps for its next comparison. That a tool was told to leave the key alone shows nowhere on the object,
so whoever tells it says so here, too: annotation `rca.bluerobin.io/allow-managers`. See docs/conflicts.md.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rca_rollout.core.names import PREFIX

GITOPS_MANAGERS = frozenset(
    {"argocd-controller", "argocd", "kustomize-controller", "helm", "helm-controller"}
)
"""Argo CD writes as `argocd-controller` (with Replace=true as `argocd`), Flux as the other two controllers, Helm as `helm`."""
ALLOW_ANNOTATION = f"{PREFIX}/allow-managers"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_FLUX = "kustomize-controller"
_FLUX_POLICY, _FLUX_HANDS_OFF = "kustomize.toolkit.fluxcd.io/ssa", frozenset({"IfNotPresent", "Ignore"})
_FLUX_RECONCILE, _FLUX_DISABLED = "kustomize.toolkit.fluxcd.io/reconcile", "disabled"

type Body = Mapping[str, Any]


def git_owners(metadata: Body, key: str, known: Collection[str]) -> tuple[str, ...]:
    """The tools among `known` that declare the key and were not allowed beside us, by name."""
    entries = list(_entries(metadata))
    names = {
        str(entry["manager"]) for entry in entries if _owns(entry, key) and entry.get("manager") in known
    }
    if _last_applied(metadata, key):
        # The annotation does not say whose it is: a tool that has a hand in the object keeps it.
        names |= {
            str(entry["manager"]) for entry in entries if _client_side(entry) and entry["manager"] in known
        }
    return tuple(sorted(names - _let_be(metadata)))


def last_writer(metadata: Body, key: str) -> str | None:
    """The field manager that wrote the key last."""
    entries = [entry for entry in _entries(metadata) if _owns(entry, key)]
    newest = max(entries, key=lambda entry: str(entry.get("time") or ""), default=None)
    return str(newest["manager"]) if newest and newest.get("manager") else None


def _entries(metadata: Body) -> Iterator[Body]:
    entries: Sequence[Body] = metadata.get("managedFields") or []
    yield from entries


def _owns(entry: Body, key: str) -> bool:
    return f"f:{key}" in ((entry.get("fieldsV1") or {}).get("f:data") or {})


def _client_side(entry: Body) -> bool:
    """Whether it wrote the annotation that a client-side apply keeps."""
    metadata = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
    return bool(entry.get("manager")) and f"f:{LAST_APPLIED}" in (metadata.get("f:annotations") or {})


def _last_applied(metadata: Body, key: str) -> bool:
    text = (metadata.get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return False
    try:
        declared = key in (json.loads(text).get("data") or {})
    except (ValueError, AttributeError, TypeError, RecursionError):
        declared = False  # nobody's apply can compare with that
    return declared


def _let_be(metadata: Body) -> frozenset[str]:
    """Tools that leave the key alone: by what the object says to Flux, or by what a person says of them."""
    annotations = metadata.get("annotations") or {}
    allowed = {name.strip() for name in str(annotations.get(ALLOW_ANNOTATION, "")).split(",")}
    quiet = (
        annotations.get(_FLUX_POLICY) in _FLUX_HANDS_OFF or annotations.get(_FLUX_RECONCILE) == _FLUX_DISABLED
    )
    return frozenset(allowed | ({_FLUX} if quiet else set()))
