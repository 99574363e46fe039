"""Finding or making the command line tools, and one directory that holds them all."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hack.cluster import gobuild, recipes
from hack.cluster.errors import ClusterError
from hack.cluster.manifest import ensure_entry
from hack.cluster.paths import cache_root
from hack.cluster.recipes import Recipe

_RELEASE = re.compile(r"v(\d+)\.(\d+)\.\d+")


def select(names: Sequence[str]) -> tuple[Recipe, ...]:
    """The recipes that hold the named sets or binaries; none named means the usual ones."""
    if not names:
        return recipes.DEFAULT
    chosen: list[Recipe] = []
    for name in names:
        found = [recipe for recipe in recipes.ALL if name == recipe.name or name in recipe.binaries]
        if not found:
            known = sorted(
                {recipe.name for recipe in recipes.ALL} | {b for r in recipes.ALL for b in r.binaries}
            )
            raise ClusterError(f"There is no tool {name!r}; there are {', '.join(known)}.")
        chosen += [recipe for recipe in found if recipe not in chosen]
    return tuple(chosen)


def ensure(recipe: Recipe) -> Path:
    """The directory with a recipe's binaries, built now if need be."""
    entry = cache_root() / "tools" / recipe.key
    ensure_entry(entry, lambda target: gobuild.build(recipe, target), what=f"{recipe.name} {recipe.version}")
    return entry / "bin"


def cached(recipe: Recipe) -> Path:
    """The directory of binaries that are in use already; not verified again, because this is asked often."""
    bin_dir = cache_root() / "tools" / recipe.key / "bin"
    return bin_dir if bin_dir.is_dir() else ensure(recipe)


def ensure_all(names: Sequence[str]) -> Path:
    """Build what is missing and return one directory with a link to every wanted binary."""
    bin_dir = cache_root() / "bin"
    bin_dir.mkdir(parents=True, exist_ok=True)
    for recipe in select(names):
        on_path = _good_enough(recipe, bin_dir)
        source = on_path.parent if on_path else ensure(recipe)
        for name in recipe.binaries:
            _link(bin_dir / name, source / name)
    return bin_dir


def kubectl() -> Path:
    """A kubectl that fits the cluster's version."""
    return ensure_all(["kubectl"]) / "kubectl"


def acceptable(recipe: Recipe, reported: str) -> bool:
    """Whether a tool on PATH may stand in: a plain release within one minor of ours (kubectl's skew rule),
    or helm 4.

    A suffix (`v1.32.4-dispatcher`) marks a wrapper that picks some other binary at run time; it is refused.
    """
    wanted, found = _RELEASE.fullmatch(recipe.version), _RELEASE.fullmatch(reported)
    if not wanted or not found or wanted[1] != found[1]:
        return False
    if recipe.name == "kubectl":
        return abs(int(wanted[2]) - int(found[2])) <= 1
    return int(found[2]) >= int(wanted[2])


def _good_enough(recipe: Recipe, bin_dir: Path) -> Path | None:
    commands = {
        "kubectl": ["version", "--client", "-o", "json"],
        "helm": ["version", "--template", "{{.Version}}"],
    }
    if recipe.name not in commands:
        return None
    path = os.pathsep.join(p for p in os.get_exec_path() if Path(p).resolve() != bin_dir.resolve())
    found = shutil.which(recipe.name, path=path)
    if found is None:
        return None
    try:
        command = [found, *commands[recipe.name]]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
        reported = (
            json.loads(answer)["clientVersion"]["gitVersion"] if recipe.name == "kubectl" else answer.strip()
        )
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None
    return Path(found) if acceptable(recipe, str(reported)) else None


def _link(link: Path, target: Path) -> None:
    """Point a link somewhere else without a moment in which it is missing."""
    if link.is_symlink() and link.readlink() == target:
        return
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.rename(link)
