"""What the README and the examples say is true: manifests parse, the incident is valid, the files are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hack.demo import cluster, watch
from rca_eval.contract import parse_ground_truth
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.parse import InvalidSpec, parse
from rca_rollout.api.suite import EvalSuite

ROOT = Path(__file__).resolve().parents[3]
QUICKSTART = ROOT / "examples" / "quickstart"
KINDS: dict[str, Any] = {"RcaComponent": RcaComponent, "EvalSuite": EvalSuite}


def documents(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(text) if document]


def quickstart() -> list[dict[str, Any]]:
    return [
        document
        for path in sorted(QUICKSTART.glob("*.yaml"))
        for document in documents(path.read_text("utf-8"))
    ]


def in_readme() -> list[dict[str, Any]]:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    return [document for block in blocks for document in documents(block)]


@pytest.mark.parametrize("document", [*quickstart(), *in_readme()], ids=lambda item: item["metadata"]["name"])
def test_every_object_is_one_that_the_operator_accepts(document: dict[str, Any]) -> None:
    kind = KINDS.get(document["kind"])
    if kind is None:
        assert document["kind"] == "ConfigMap"
        return
    document["metadata"].update(namespace="rca", uid="u", resourceVersion="1", generation=1)
    parsed = parse(kind, document)
    assert not isinstance(parsed, InvalidSpec), parsed


@pytest.mark.parametrize("objects", [quickstart(), in_readme()], ids=["quickstart", "README"])
def test_components_refer_to_what_is_there_and_targets_opt_in(objects: list[dict[str, Any]]) -> None:
    by_name = {(item["kind"], item["metadata"]["name"]): item for item in objects}
    components = [item for item in objects if item["kind"] == "RcaComponent"]
    assert components
    for component in components:
        spec = component["spec"]
        assert ("EvalSuite", spec["suiteRef"]["name"]) in by_name
        target = by_name["ConfigMap", spec["target"]["configMapRef"]["name"]]
        assert target["metadata"]["labels"]["rca.bluerobin.io/watch"] == "Enabled"
        assert spec["target"]["key"] in target["metadata"]["annotations"]["rca.bluerobin.io/keys"].split(",")
        assert target["data"][spec["target"]["key"]] == "Shadow"


def test_the_demo_makes_every_configmap_that_the_suites_need_and_follows_the_components() -> None:
    suites = [item["spec"] for item in quickstart() if item["kind"] == "EvalSuite"]
    needed = {suite[part]["configMapRef"]["name"] for suite in suites for part in ("dataset", "baseline")}
    assert needed == set(cluster.CONFIGMAPS)
    assert all(path.is_file() for _, path in cluster.CONFIGMAPS.values())
    components = {item["metadata"]["name"] for item in quickstart() if item["kind"] == "RcaComponent"}
    assert components == {watch.GOOD, watch.BAD}


def test_the_incident_to_start_from_is_valid() -> None:
    data = (ROOT / "examples" / "incidents" / "one-incident.json").read_bytes()
    assert len(parse_ground_truth(data).incidents) == 1


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"])
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), target
