"""The example's manifests fit the agent: its options, its keys, its ports, and a Pod that may do little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from rca_eval.cli.app import app
from rca_eval.engine import KEYS
from rca_eval.serve import parse_listen
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.parse import InvalidSpec, parse

FOLDER = Path(__file__).parents[2] / "examples" / "agent"


@pytest.fixture(scope="module")
def objects() -> dict[str, dict[str, Any]]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))]
    return {one["kind"]: one for text in texts for one in yaml.safe_load_all(text)}


def test_the_modes_are_those_of_the_engine_all_in_shadow_and_opted_in(objects: dict[str, Any]) -> None:
    modes = objects["ConfigMap"]
    assert modes["data"] == dict.fromkeys(KEYS, "Shadow")
    assert modes["metadata"]["labels"]["rca.bluerobin.io/watch"] == "Enabled"
    assert modes["metadata"]["annotations"]["rca.bluerobin.io/keys"].split(",") == list(KEYS)


def test_the_component_is_valid_and_points_at_a_key_of_the_modes(objects: dict[str, Any]) -> None:
    component = objects["RcaComponent"]
    target = component["spec"]["target"]
    assert target["configMapRef"]["name"] == objects["ConfigMap"]["metadata"]["name"]
    assert target["key"] in objects["ConfigMap"]["data"]
    component["metadata"].update(namespace="rca", uid="u", resourceVersion="1", generation=1)
    assert not isinstance(parse(RcaComponent, component), InvalidSpec)


def test_the_deployment_starts_the_agent_with_options_that_it_has(objects: dict[str, Any]) -> None:
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"][:2] == ["rca-eval", "serve"]
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    known = {name for parameter in command.params for name in parameter.opts}
    given = dict(one.split("=", 1) for one in container["args"][2:])
    assert set(given) <= known
    variables = {parameter.envvar for parameter in command.params}
    assert {one["name"] for one in container["env"]} <= variables
    (mount,) = (one for one in container["volumeMounts"] if one["name"] == "modes")
    assert mount["mountPath"] == given["--modes"]
    assert "subPath" not in mount
    (port,) = container["ports"]
    assert parse_listen(given["--listen"])[1] == port["containerPort"]
    assert (
        objects["Service"]["spec"]["selector"].items()
        <= objects["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    )
    assert given["--revision"] == objects["RcaComponent"]["spec"]["revision"]


def test_the_pod_fits_the_restricted_profile(objects: dict[str, Any]) -> None:
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    security = pod["containers"][0]["securityContext"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert security == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["automountServiceAccountToken"] is False
