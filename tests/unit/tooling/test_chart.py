"""The chart against the code: the rights it grants are the rights that are used, its environment is the one that is read.

Aspects: every request of the operator is allowed, no right is unused, every setting is set, the values' schema names
what the values have. (Rendering is `make check`'s; a real API server refuses in the ring *cluster*.)
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from rca_rollout.kube import resources
from rca_rollout.kube.resources import Resource

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "charts" / "rca-rollout"
OPERATOR = ROOT / "operator" / "rca_rollout"
KNOWN = {name: value for name, value in vars(resources).items() if isinstance(value, Resource)}
# The methods of the API port, and of its one wrapper, as verbs on a resource or a subresource.
VERBS = {
    "get": ("", "get"),
    "list": ("", "list"),
    "create": ("", "create"),
    "make": ("", "create"),
    "json_patch": ("", "patch"),
    "delete": ("", "delete"),
    "replace": ("", "update"),
    "replace_status": ("/status", "update"),
    "write_status": ("/status", "update"),
}

type Right = tuple[str, str, str]


def calls() -> Iterator[ast.Call]:
    for path in sorted(OPERATOR.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield node


def used() -> set[Right]:
    """(group, resource, verb) of every request that the operator's source can make."""
    rights: set[Right] = set()
    for call in calls():
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        first = call.args[0] if call.args else None
        if name in VERBS and isinstance(first, ast.Name) and first.id in KNOWN:
            suffix, verb = VERBS[name]
            rights.add((KNOWN[first.id].group, KNOWN[first.id].plural + suffix, verb))
        elif name == "pod_log":
            rights.add(("", "pods/log", "get"))
        elif name == "Children" and isinstance(first, ast.Name) and first.id in KNOWN:
            # Our own list and stream of what runs own.
            resource = KNOWN[first.id]
            rights |= {(resource.group, resource.plural, verb) for verb in ("list", "watch")}
        elif name in ("event", "index") and len(call.args) == 3:
            # kopf's registration: it lists, then watches.
            plural = ast.literal_eval(call.args[2])
            group = next(resource.group for resource in KNOWN.values() if resource.plural == plural)
            rights |= {(group, plural, "list"), (group, plural, "watch")}
    return rights


def rules(name: str) -> list[dict[str, list[str]]]:
    text = (CHART / "templates" / "_helpers.tpl").read_text(encoding="utf-8")
    found = re.search(rf'define "rca-rollout\.{name}" -}}}}\n(.*?)\n{{{{- end }}}}', text, re.DOTALL)
    assert found
    read: list[dict[str, list[str]]] = yaml.safe_load(found[1])
    return read


def granted() -> set[Right]:
    return {
        (group, resource, verb)
        for rule in [*rules("rules"), *rules("leaseRules"), *rules("secretRules")]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_scan_sees_the_requests_that_matter() -> None:
    assert {
        ("", "configmaps", "patch"),
        ("batch", "jobs", "create"),
        ("", "pods/log", "get"),
        ("rca.bluerobin.io", "rcacomponents/status", "update"),
        ("rca.bluerobin.io", "evalruns", "watch"),
    } <= used()


def test_the_role_is_what_the_operator_uses() -> None:
    assert granted() == used()


def test_one_lease_may_be_used_and_others_only_made() -> None:
    """A right to create cannot be limited by name."""
    assert [(rule["verbs"], "resourceNames" in rule) for rule in rules("leaseRules")] == [
        (["get", "update"], True),
        (["create"], False),
    ]


def test_no_secrets_unless_asked_for_and_no_wildcards() -> None:
    assert not [right for right in granted() if "*" in right]
    assert "secrets" not in str(rules("rules")), "only where the chart's rbac.secretInputs says so"
    assert [(rule["resources"], rule["verbs"]) for rule in rules("secretRules")] == [(["secrets"], ["get"])]


def test_the_deployment_sets_every_setting_that_is_read() -> None:
    template = (CHART / "templates" / "deployment.yaml").read_text(encoding="utf-8")
    set_here = set(re.findall(r"- name: (RCA_ROLLOUT_\w+)", template))
    settings = (OPERATOR / "runtime" / "settings.py").read_text(encoding="utf-8")
    read = {f"RCA_ROLLOUT_{name}" for name in re.findall(r'text\("(\w+)"', settings)}
    # The context is for running outside a cluster.
    assert set_here == read - {"RCA_ROLLOUT_CONTEXT"}


def test_the_schema_knows_every_value_and_no_other() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))

    def compare(value: dict[str, Any], part: dict[str, Any], path: str) -> None:
        if "$ref" in part:
            part = schema["definitions"][part["$ref"].rpartition("/")[2]]
        properties = part.get("properties")
        if properties is None:
            return
        assert part.get("additionalProperties") is False, path
        assert set(properties) - {"global"} == set(value), path
        for key, below in value.items():
            if isinstance(below, dict):
                compare(below, properties[key], f"{path}.{key}")

    compare(values, schema, "values")
