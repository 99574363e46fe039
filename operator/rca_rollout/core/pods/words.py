"""What a Pod's containers said, and which images they ran."""

from __future__ import annotations

import re
from datetime import datetime

from rca_rollout.core.pods.outcome import Body
from rca_rollout.core.pods.steps import ended, states, time


def termination_message(pod: Body, container: str) -> str:
    """What `container` left as its last words, or an empty string."""
    return next((str(ended(s).get("message") or "") for s in states(pod) if s["name"] == container), "")


def finished_at(pod: Body) -> datetime | None:
    """When the last of its containers ended; None while none has."""
    return max((end for s in states(pod) if (end := time(ended(s).get("finishedAt")))), default=None)


def image_ids(pod: Body) -> dict[str, str]:
    """Container name to the digest of the image that really ran."""
    return {state["name"]: str(state.get("imageID", "")) for state in states(pod)}


# A frame of a traceback, whoever prints it: Python, Java and JavaScript, Go. A log may begin in the middle of one.
_FRAME = re.compile(
    r'[\s|+]*(File "[^"]*", line \d+|at \S.*(:\d+|\))$|\.\.\. \d+ more$|\S+\.go:\d+)',
)
_TRACEBACK = "Traceback (most recent call last)"


def readable_tail(log: bytes, limit: int = 2048) -> str:
    """The end of a log as text for status: printable, bounded, and without the frames of a traceback.

    The frames say nothing to the reader of a status and push the one line that does out of the window.
    """
    lines: list[str] = []
    inside = False
    for line in log.decode(errors="replace").splitlines():
        indented = line.startswith((" ", "\t"))
        if _TRACEBACK in line or (indented and _FRAME.match(line)):
            inside = True
            continue
        if inside and (indented or not line.strip()):
            continue
        inside = False
        shown = line.expandtabs(4)
        lines.append("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown))
    text = "\n".join(lines)
    raw = text.encode()
    return text if len(raw) <= limit else raw[-limit:].decode(errors="ignore")
