"""`python -m rca_eval.job`: a step of the Job as a process that imports nothing but the Job."""

import json
import os
import subprocess
import sys

import pytest


def step(*arguments, **env):
    return subprocess.run(
        [sys.executable, "-m", "rca_eval.job", *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", [(), ("judge",), ("engine", "--blend")])
def test_anything_but_one_step_is_refused_with_the_steps(arguments):
    done = step(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "Usage: name one step of prepare, engine, scorecard; options are for `rca-eval job`\n"
    )


def test_a_step_that_cannot_run_says_why_as_the_command_line_does(tmp_path):
    env = {
        "RCA_EVAL_INCIDENTS": str(tmp_path / "absent"),
        "RCA_EVAL_OUTPUT": str(tmp_path),
        "RCA_EVAL_TERMINATION_LOG": str(tmp_path / "log"),
    }
    done = step("engine", **env)
    by_command = subprocess.run(
        [sys.executable, "-m", "rca_eval.cli", "job", "engine"],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, by_command.stderr)
    assert json.loads((tmp_path / "log").read_text())["error"]["reason"] == "FileUnreadable"


def test_the_rest_of_the_command_line_is_not_imported():
    code = "import sys, rca_eval.job.__main__; print([m for m in ('typer', 'rich', 'jinja2', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
