"""The chart's rights against what an operator asks for: rendered rules, the account that has them, and what it sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from rca_testing.node import CHART, Place
from rca_testing.wire import Sent

type Right = tuple[str, str, str]
"""API group, resource with its subresource, verb."""

type Body = dict[str, Any]

_OURS = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ServiceAccount")


def rendered(place: Place, release: str, settings: Sequence[str]) -> list[Body]:
    """The chart's account and its rights, as an installation into this namespace makes them."""
    flags = [part for setting in settings for part in ("--set", setting)]
    text = place.api.run("helm", "template", release, str(CHART), "-n", place.name, *flags)
    return [body for body in yaml.safe_load_all(text) if body and body["kind"] in _OURS]


def account(place: Place, bodies: Sequence[Body], folder: Path) -> str:
    """Makes them, and returns a token of the account."""
    path = folder / "rights.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(bodies)}))
    place.kubectl("create", "-f", str(path))
    [name] = [body["metadata"]["name"] for body in bodies if body["kind"] == "ServiceAccount"]
    return place.kubectl("create", "token", name).strip()


def granted(bodies: Iterable[Body]) -> set[Right]:
    return {
        (group, resource, verb)
        for body in bodies
        for rule in body.get("rules") or ()
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(sent: Iterable[Sent]) -> set[Right]:
    """What was asked for and carried out, or at least not forbidden."""
    return {
        (each.group, each.resource, each.verb)
        for each in sent
        if each.resource and each.status and each.status not in (401, 403)
    }


def refused(sent: Iterable[Sent], namespace: str) -> set[Right]:
    """What this namespace's operator asked for without having the right."""
    return {
        (each.group, each.resource, each.verb)
        for each in sent
        if each.status == 403 and each.namespace in ("", namespace)
    }


def sentence(right: Right) -> str:
    group, resource, verb = right
    return f"{verb} {resource}{f'.{group}' if group else ''}"
