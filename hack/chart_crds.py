"""The chart's copies of `crds/`: as templates, so that `helm upgrade` upgrades them too.

Helm installs a chart's `crds/` folder once and never again. As templates they follow the chart, behind
`crds.enabled`, and `crds.keep` keeps them (and with them everybody's objects) when the chart is uninstalled.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "crds"
TARGET = ROOT / "charts" / "rca-rollout" / "templates" / "crds"

HEAD = """{{- /* Copied from crds/ by "python -m hack.chart_crds": edit the models, not this. */ -}}
{{- if .Values.crds.enabled }}
"""
TAIL = "{{- end }}\n"
KEEP = """  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
"""


class UnexpectedCrdError(Exception):
    """A CRD whose text this cannot place the chart's lines into."""


def templated(text: str, name: str) -> str:
    """A CRD as a Helm template: its own braces escaped, the keep annotation placed, a switch around it."""
    if "\nmetadata:\n" not in text:
        raise UnexpectedCrdError(f"{name}: no line 'metadata:' to put the annotation under")
    before, after = text.split("\nmetadata:\n", 1)
    if after.startswith("  annotations:"):
        raise UnexpectedCrdError(f"{name}: has annotations of its own, which the chart's would collide with")
    escaped = [part.replace("{{", '{{ "{{" }}') for part in (before, after)]
    # The generated files begin with a comment on how to make them, which holds for the copy's source only.
    body = f"{escaped[0]}\nmetadata:\n{KEEP}{escaped[1]}"
    return f"{HEAD}{body.rstrip()}\n{TAIL}"


def wanted() -> dict[str, str]:
    sources = sorted(SOURCE.glob("*.yaml"))
    return {path.name: templated(path.read_text(encoding="utf-8"), path.name) for path in sources}


def differences() -> list[str]:
    goal = wanted()
    there = {path.name: path.read_text(encoding="utf-8") for path in sorted(TARGET.glob("*.yaml"))}
    found = [f"{name} is missing in the chart" for name in goal.keys() - there.keys()]
    found += [f"{name} is in the chart but not in crds/" for name in there.keys() - goal.keys()]
    found += [
        f"{name} differs from crds/" for name in goal.keys() & there.keys() if goal[name] != there[name]
    ]
    return sorted(found) if goal else ["crds/ is empty: run 'python -m hack.crdgen' first"]


def write() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    goal = wanted()
    for path in TARGET.glob("*.yaml"):
        if path.name not in goal:
            path.unlink()
    for name, text in goal.items():
        (TARGET / name).write_text(text, encoding="utf-8")
        print(f"wrote {(TARGET / name).relative_to(ROOT)}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hack.chart_crds", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when a copy is not up to date"
    )
    options = parser.parse_args(arguments)
    try:
        if not options.check:
            write()
            return 0
        found = differences()
    except UnexpectedCrdError as error:
        found = [str(error)]
    for line in found:
        print(line)
    if found:
        print("Run 'python -m hack.chart_crds' and commit what it writes.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
