"""The ready workflow files: valid for their systems, and their commands really do what the comments say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / "examples" / "ci"
BIN = Path(sys.executable).parent
SCHEMAS = {
    "github-gate.yml": "vendor.github-workflows",
    "github-nightly.yml": "vendor.github-workflows",
    "gitlab-ci.yml": "vendor.gitlab-ci",
}
# The service beside a runner; here the store is inside the process.
SERVICE = re.compile(r"falkor://(localhost|falkordb):6379")
GATE_FILES = ("scorecard.json", "rca-gate.junit.xml", "rca-gate.md", "rca-gate.html")


def steps(name: str) -> list[str]:
    document: dict[str, Any] = yaml.safe_load((CI / name).read_text("utf-8"))
    if name.startswith("github"):
        (job,) = document["jobs"].values()
        return [step["run"] for step in job["steps"] if "run" in step]
    return list(document["rca-gate"]["script"])


def commands(name: str) -> list[str]:
    return [step for step in steps(name) if step.lstrip().startswith("rca-eval")]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_workflow_follows_the_schema_of_its_system(name: str) -> None:
    command = [str(BIN / "check-jsonschema"), "--builtin-schema", SCHEMAS[name], str(CI / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["github-gate.yml", "gitlab-ci.yml"])
def test_the_gate_job_passes_and_leaves_its_reports(name: str, tmp_path: Path) -> None:
    env = {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "RCA_DATASET": "--profile graded",
        "RCA_COMPONENT": "RcaLiveActivation.Mode",
    }
    ran = commands(name)
    assert len(ran) == 3
    for step in ran:
        script = SERVICE.sub("embedded", step)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip
        assert done.returncode == 0, f"{step}\n{done.stdout}{done.stderr}"
    for file in GATE_FILES:
        assert (tmp_path / file).stat().st_size > 0
    assert (tmp_path / "rca-gate.md").read_text("utf-8").startswith("<!-- rca-eval-report -->")
    assert ElementTree.parse(tmp_path / "rca-gate.junit.xml").getroot().find(".//testcase") is not None


@pytest.mark.parametrize("path", sorted(CI.iterdir()), ids=lambda path: path.name)
def test_every_command_and_option_exists(path: Path) -> None:
    """Each `rca-eval` line, with `--help` in place of its work: an unknown option would be refused first."""
    lines = re.sub(r"\\\n\s*", " ", path.read_text("utf-8"))
    used = re.findall(r"rca-eval ((?:ablate|gate-selftest|gate|lint|replay)\b[^\n#]*)", lines)
    used = [line for line in used if not line.startswith("gate`")]
    assert used
    for line in used:
        wanted = set(re.findall(r"(--[a-z][a-z-]*)", line))
        command = line.split()[0]
        shown = subprocess.run(
            [str(BIN / "rca-eval"), command, "--help"], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        assert wanted <= set(re.findall(r"(--[a-z][a-z-]*)", shown)), (line, wanted)
