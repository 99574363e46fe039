"""Which files of a build context an image can see: .dockerignore, as Docker and buildah read it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Rule:
    """One line: what it matches, and whether it ignores or brings back."""

    pattern: re.Pattern[str]
    ignores: bool


def _translate(pattern: str) -> re.Pattern[str]:
    """Go's filepath.Match plus `**`; a match of a directory covers everything in it."""
    out, position = "", 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            out, position = out + "(?:.*/)?", position + 3
        elif pattern.startswith("**", position):
            out, position = out + ".*", position + 2
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(pattern[position], re.escape(pattern[position]))
            position += 1
    return re.compile(f"{out}(?:/.*)?", re.DOTALL)


def parse(text: str) -> list[Rule]:
    rules = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        ignores = not stripped.startswith("!")
        cleaned = str(PurePosixPath(stripped.lstrip("!").strip().lstrip("/")))
        if cleaned != ".":
            rules.append(Rule(_translate(cleaned), ignores))
    return rules


def rules_for(dockerfile: Path, context: Path) -> list[Rule]:
    """`X.dockerignore` beside the Dockerfile X wins over the context's own."""
    for candidate in (dockerfile.with_name(f"{dockerfile.name}.dockerignore"), context / ".dockerignore"):
        if candidate.is_file():
            return parse(candidate.read_text(encoding="utf-8"))
    return []


def ignored(path: str, rules: Sequence[Rule]) -> bool:
    """The last rule that matches decides."""
    verdict = False
    for rule in rules:
        if rule.pattern.fullmatch(path):
            verdict = rule.ignores
    return verdict


def visible_files(context: Path, start: Path, rules: Sequence[Rule]) -> Iterator[Path]:
    """Every file and link under `start` (inside the context) that is not ignored, in a stable order."""
    if start.is_symlink() or start.is_file():
        if not ignored(start.relative_to(context).as_posix(), rules):
            yield start
        return
    brings_back = any(not rule.ignores for rule in rules)
    for entry in sorted(start.iterdir()):
        name = entry.relative_to(context).as_posix()
        if entry.is_dir() and not entry.is_symlink():
            if brings_back or not ignored(name, rules):
                yield from visible_files(context, entry, rules)
        elif not ignored(name, rules):
            yield entry
