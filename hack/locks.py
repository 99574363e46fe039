"""The locks fit pyproject.toml: every requirement is pinned where it belongs, at a version that it allows.

Whether newer versions exist is not asked (`make lock LOCK_ARGS=--upgrade` is for that), so this needs no network.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)

type Project = dict[str, Any]


def requirements(
    project: Project, *, extras: tuple[str, ...] = (), groups: tuple[str, ...] = ()
) -> list[Requirement]:
    """What a selection of the project asks for itself."""
    texts: list[str] = list(project["project"]["dependencies"]) if extras else []
    for extra in extras:
        texts += project["project"]["optional-dependencies"][extra]
    for group in groups:
        texts += _group(project, group)
    return [Requirement(text) for text in texts]


def _group(project: Project, name: str) -> Iterator[str]:
    for item in project["dependency-groups"][name]:
        if isinstance(item, str):
            yield item
        else:
            yield from _group(project, item["include-group"])


def pins(text: str) -> dict[str, set[str]]:
    """Name to versions: a universal lock may hold two, for different Pythons or platforms."""
    found: dict[str, set[str]] = {}
    for name, version in PIN.findall(text):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def misfits(wanted: list[Requirement], pinned: dict[str, set[str]]) -> list[str]:
    wrong = []
    for requirement in wanted:
        versions = pinned.get(canonicalize_name(requirement.name), set())
        if not versions:
            wrong.append(f"{requirement.name} is not in it")
        elif not any(requirement.specifier.contains(version, prereleases=True) for version in versions):
            wrong.append(
                f"{requirement.name} {', '.join(sorted(versions))} does not fit {requirement.specifier}"
            )
    return wrong


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    selections = {
        "dev": requirements(project, extras=("operator", "harness"), groups=("dev",)),
        "operator": requirements(project, extras=("operator",)),
        "harness": requirements(project, extras=("harness",)),
        "build": requirements(project, groups=("build",)),
        "bench": requirements(project, extras=("harness",), groups=("bench",)),
    }
    texts = {name: (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8") for name in selections}
    dev = pins(texts["dev"])
    wrong: list[str] = []
    for name, wanted in selections.items():
        pinned = pins(texts[name])
        wrong += [f"locks/{name}.txt: {problem}" for problem in misfits(wanted, pinned)]
        # What the benchmarks compare with is in no other environment; what they share is at one version.
        alone = pinned.keys() - dev.keys() if name == "bench" else set[str]()
        different = sorted(
            package for package in pinned if package not in alone and pinned[package] != dev.get(package)
        )
        wrong += [f"locks/{name}.txt: {package} differs from locks/dev.txt" for package in different]
        if "://" in texts[name]:
            wrong.append(f"locks/{name}.txt: holds a URL, and an index is the reader's own choice")
    for line in wrong:
        print(line)
    if wrong:
        print("Run 'make lock' and commit what it writes.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
