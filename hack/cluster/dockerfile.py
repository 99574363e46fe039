"""What a Dockerfile takes from its context: enough of its syntax to know when a rebuild can be skipped.

Whatever is not understood counts as "the whole context", which can only cause a rebuild too many, never one
too few.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

EVERYTHING = "."
_MOUNT_SOURCE = re.compile(r"(?:^|,)(?:source|src)=([^,]+)")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """(instruction, arguments), with continuation lines joined and comments left out."""
    pending = ""
    for line in text.splitlines():
        if line.lstrip().startswith("#") or (not line.strip() and not pending):
            continue
        if line.rstrip().endswith("\\"):
            pending += line.rstrip()[:-1] + " "
            continue
        whole = (pending + line).strip()
        pending = ""
        word, _, rest = whole.partition(" ")
        if word:
            yield word.upper(), rest.strip()
    if pending.strip():
        word, _, rest = pending.strip().partition(" ")
        yield word.upper(), rest.strip()


def context_sources(text: str) -> set[str]:
    """The context paths (possibly with wildcards) that the build can read; EVERYTHING when in doubt."""
    found: set[str] = set()
    for word, rest in instructions(text):
        if word in {"COPY", "ADD"}:
            found |= _copied(rest)
        elif word == "RUN" and "--mount=" in rest:
            found |= _bind_mounted(rest)
        elif word == "ONBUILD":
            found.add(EVERYTHING)
    return {EVERYTHING} if EVERYTHING in found else found


def _copied(rest: str) -> set[str]:
    flags = []
    while rest.startswith("--"):
        flag, _, rest = rest.partition(" ")
        flags.append(flag)
        rest = rest.lstrip()
    if any(flag.startswith("--from=") for flag in flags):
        return set()
    try:
        items = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
    except ValueError:
        return {EVERYTHING}
    sources = [str(item) for item in items[:-1]]
    if not sources or any("$" in source or "<<" in source for source in sources):
        return {EVERYTHING}
    cleaned = {
        source.removeprefix("./").strip("/") or EVERYTHING for source in sources if "://" not in source
    }
    return {EVERYTHING} if any(".." in item.split("/") for item in cleaned) else cleaned


def _bind_mounted(rest: str) -> set[str]:
    found = set()
    for mount in re.findall(r"--mount=(\S+)", rest):
        kinds = re.findall(r"(?:^|,)type=(\w+)", mount)
        if (not kinds or kinds[0] == "bind") and "from=" not in mount:
            source = _MOUNT_SOURCE.search(mount)
            found.add(
                source[1].removeprefix("./").strip("/") if source and "$" not in source[1] else EVERYTHING
            )
    return {item or EVERYTHING for item in found}
