"""`make check`: every static check by name; all run even when one fails, and only what fails is loud.

`python -m hack.check ruff mypy` runs those alone; `--list` names them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hack import chart_render

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
BIN = Path(sys.executable).parent

Outcome = tuple[bool, str]


@dataclass(frozen=True)
class Step:
    """One check: its name, what it looks at, and how it is run."""

    name: str
    about: str
    run: Callable[[], Outcome]


def command(*arguments: str) -> Callable[[], Outcome]:
    """A step that is one program, judged by its exit status."""

    def run() -> Outcome:
        done = subprocess.run(
            arguments,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        return done.returncode == 0, done.stdout

    return run


def layout() -> Outcome:
    """`operator/` is a source root: an `__init__.py` in it would shadow Python's own `operator` module."""
    wrong = [name for name in ("operator/__init__.py", "harness/__init__.py") if (ROOT / name).exists()]
    return not wrong, "".join(
        f"{name} must not exist: it is a source root, not a package\n" for name in wrong
    )


def render() -> Outcome:
    return chart_render.check()


STEPS = (
    Step("ruff", "lint rules", command(str(BIN / "ruff"), "check", ".")),
    Step("format", "source format", command(str(BIN / "ruff"), "format", "--check", ".")),
    Step("mypy", "strict types of rca_rollout, rca_eval and hack", command(PYTHON, "-m", "mypy")),
    Step("layers", "who may import whom (.importlinter)", command(str(BIN / "lint-imports"), "--no-cache")),
    Step("purity", "no clock, chance or files in the pure parts", command(PYTHON, "-m", "hack.purity")),
    Step("layout", "no __init__.py in a source root", layout),
    Step("locks", "the locks fit pyproject.toml", command(PYTHON, "-m", "hack.locks")),
    Step("crds", "crds/ is what the models generate", command(PYTHON, "-m", "hack.crdgen", "--check")),
    Step("chart-crds", "the chart's CRDs are copies", command(PYTHON, "-m", "hack.chart_crds", "--check")),
    Step("chart", "helm lint, helm template and kubeconform over every values file", render),
    Step("shell", "shell scripts parse", command(PYTHON, "-m", "hack.shellcheck")),
)


def report(step: Step) -> bool:
    """Run a step and print its line; its output only when it failed."""
    print(f"{step.name:<11} {step.about} … ", end="", flush=True)
    began = time.monotonic()
    try:
        passed, output = step.run()
    except OSError as error:
        passed, output = False, f"could not be run: {error}"
    print(f"{'OK' if passed else 'FAIL'} ({time.monotonic() - began:.1f} s)", flush=True)
    if not passed:
        print("\n".join(f"    {line}" for line in output.strip().splitlines()), flush=True)
    return passed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hack.check", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CHECK", help="run these only")
    parser.add_argument("--list", action="store_true", help="name the checks and end")
    options = parser.parse_args(arguments)
    known = {step.name: step for step in STEPS}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"there is no check {unknown[0]!r}; there are {', '.join(known)}")
    if options.list:
        for step in STEPS:
            print(f"{step.name:<11} {step.about}")
        return 0
    chosen = [known[name] for name in options.names] or list(STEPS)
    failed = [step.name for step in chosen if not report(step)]
    names = f": {', '.join(failed)}" if failed else ""
    print(f"check: {len(chosen) - len(failed)} OK, {len(failed)} failed{names}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
