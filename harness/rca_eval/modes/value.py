"""What a value means: the one rule that every consumer follows. Pure.

    Active              iff the value, without the white space around it, is `Active` or `Active@<own revision>`
    Shadow              in every other case: nothing there, nothing readable, another word, another case of it,
                        another revision's value
A switch that is in doubt is off: the legacy path is the one that was measured.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

ACTIVE, SHADOW = "Active", "Shadow"
VALUE_LIMIT = 4096
"""Bytes of one value. `Active@` and the longest revision need 260; whatever is larger is not a mode."""
SHOWN_LIMIT = 300
"""Characters. `Active@` and the longest revision are told whole: what is loaded is compared with what was written."""
WHITE_SPACE = " \t\r\n"
_KEY = re.compile(r"[-._A-Za-z0-9]{1,253}")


class Mode(StrEnum):
    SHADOW = SHADOW
    ACTIVE = ACTIVE


class Cause(StrEnum):
    """Why a mode is what it is; a closed set, safe as a label."""

    ACTIVE = "Active"
    SHADOW = "Shadow"
    OTHER_REVISION = "OtherRevision"
    UNKNOWN = "UnknownValue"
    MISSING = "Missing"
    UNREADABLE = "Unreadable"
    TOO_LARGE = "TooLarge"
    NOT_TEXT = "NotText"
    AMBIGUOUS = "Ambiguous"
    BAD_KEY = "BadKey"


@dataclass(frozen=True)
class Found:
    """What a source holds for a key: its text, or the cause why there is none."""

    text: str | None
    cause: Cause | None = None


@dataclass(frozen=True)
class Reading:
    """One key, read: `value` is what was found (shortened), null when nothing was; times are UTC."""

    component: str
    mode: Mode
    reason: Cause
    value: str | None
    revision: str | None
    source: str
    loaded_at: datetime

    def plain(self) -> dict[str, str | None]:
        """The form of `GET /modes`; see docs/agent-protocol.md."""
        return {
            "component": self.component,
            "value": self.value,
            "mode": self.mode.value,
            "revision": self.revision,
            "source": self.source,
            "loadedAt": utc(self.loaded_at),
            "reason": self.reason.value,
        }


def decide(found: Found, revision: str | None) -> tuple[Mode, Cause]:
    """The mode of what was found, for a consumer that runs `revision` (None: it does not know its own)."""
    if found.text is None:
        return Mode.SHADOW, found.cause or Cause.MISSING
    value = found.text.strip(WHITE_SPACE)
    if value == ACTIVE:
        return Mode.ACTIVE, Cause.ACTIVE
    if value == SHADOW:
        return Mode.SHADOW, Cause.SHADOW
    word, at, other = value.partition("@")
    if word in (ACTIVE, SHADOW) and at and other:
        if word == ACTIVE and revision and other == revision:
            return Mode.ACTIVE, Cause.ACTIVE
        return Mode.SHADOW, Cause.SHADOW if word == SHADOW else Cause.OTHER_REVISION
    return Mode.SHADOW, Cause.UNKNOWN


def text_of(data: bytes) -> Found:
    """The text in a value's bytes; more than `VALUE_LIMIT` of them, or no UTF-8, is no value."""
    if len(data) > VALUE_LIMIT:
        return Found(None, Cause.TOO_LARGE)
    try:
        return Found(data.decode("utf-8"))
    except UnicodeDecodeError:
        return Found(None, Cause.NOT_TEXT)


def is_key(key: str) -> bool:
    """Whether a ConfigMap could have this key. Nothing else is looked up: a key is joined to a folder."""
    return bool(_KEY.fullmatch(key)) and key not in {".", ".."} and not key.startswith("..")


def shortened(text: str | None) -> str | None:
    """A value for people: trimmed, one line, no character that a terminal would obey, at most `SHOWN_LIMIT` characters."""
    if text is None:
        return None
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text.strip(WHITE_SPACE))
    return clean if len(clean) <= SHOWN_LIMIT else clean[: SHOWN_LIMIT - 1] + "…"


def utc(moment: datetime) -> str:
    """RFC 3339 with microseconds and Z."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
