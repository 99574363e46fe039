"""A JSON text read with its positions: which line a field is on, and all that is wrong with the text.

The strict reader of the contract ends at the first mistake. This one says what it found, goes on where it is clear what
was meant, and puts `BROKEN` where no value could be read. It decides nothing: what it reads is only linted.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple

from rca_eval.contract import shown
from rca_eval.contract.jsontext import RefusedError, number
from rca_eval.lint.finding import Path

MAX_DEPTH = 200  # a document of ours has nine levels
MAX_PROBLEMS = 100
_SPACES, _COMMENTS = " \t\r\n", "/#"
_SPACE = re.compile(r"[ \t\r\n]+")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_WORD = re.compile(r"[^\s{}\[\]:,\"]+")
_COMMENT = re.compile(r"(?://|#)[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")
_SKIP = json.JSONDecoder(parse_int=str, parse_float=str)
_WORDS = {"true": True, "false": False, "null": None}
_NOT_FINITE = frozenset({"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"})
_MEANT = {"True": "true", "False": "false", "None": "null", "undefined": "null"}


class _Broken:
    """Stands where the text holds no value that could be read."""

    def __repr__(self) -> str:
        return "an unreadable value"


BROKEN = _Broken()


class Problem(NamedTuple):
    """Something wrong with the text itself; `offset` is in characters from its beginning."""

    code: str
    offset: int
    path: Path
    message: str
    fix: str


class _StopError(Exception):
    """Nothing after this can be understood."""


class Source:
    """A text, its value and its problems; or, with `wanted`, only the places of these paths.

    A document may have a million values, and few of them are of interest.
    """

    def __init__(self, text: str, wanted: Iterable[Path] | None = None) -> None:
        self.value: Any = BROKEN
        self.problems: list[Problem] = []
        self._text, self._at, self._path = text, 0, list[str | int]()
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._offsets: dict[Path, int] = {}
        tree: dict[Any, Any] = {}
        self._only_places = wanted is not None
        for path in wanted or ():
            node = tree
            for step in path:
                node = node.setdefault(step, {})
        try:
            if self._only_places and not tree:
                return
            self.value = self._value(tree)
            if self._peek():
                self._problem("E-SYNTAX", "goes on after the end of its value", "keep one JSON value")
        except _StopError:
            pass

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column, both from 1, of a path or of the nearest thing above it that has a place."""
        while path and path not in self._offsets:
            path = path[:-1]
        return self.position(self._offsets.get(path, 0))

    def position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def _value(self, node: dict[Any, Any] | None) -> Any:
        sign = self._peek()
        if self._only_places and not node and self._skip():
            return None
        if sign == "{":
            return self._object(node)
        if sign == "[":
            return self._list(node)
        if sign == '"':
            return self._string()
        if (match := _WORD.match(self._text, self._at)) is not None:
            return self._word(match[0])
        where = "ends where a value is needed" if not sign else f"has {sign!r} where a value is needed"
        raise self._stop(where, "the file is cut off; write it again" if not sign else "write a value there")

    def _skip(self) -> bool:
        """Pass a value in which nothing is asked for, at the speed of the standard parser, if that can read it."""
        try:
            self._at = _SKIP.raw_decode(self._text, self._at)[1]
        except (ValueError, RecursionError):
            return False
        return True

    def _object(self, node: dict[Any, Any] | None) -> dict[str, Any]:
        found: dict[str, Any] = {}
        first: dict[str, int] = {}
        self._enter()
        while self._more("}"):
            offset = self._at
            if self._peek() != '"':
                raise self._stop(
                    f"has {self._shown()} where a key is needed",
                    'write the key in double quotes, "key": value',
                )
            key = self._string()
            self._path.append(key)
            if key in first:
                line = self.position(first[key])[0]
                text = f"has the key {shown(key)} twice in one object, first on line {line}"
                self._problem("E-DUPLICATE-KEY", text, "keep one of the two", offset)
            first.setdefault(key, offset)
            below = node.get(key) if node else None
            if below is not None:
                self._offsets.setdefault(tuple(self._path), offset)
            if self._peek() != ":":
                raise self._stop(f"has no colon after the key {shown(key)}", 'write "key": value')
            self._at += 1
            found[key] = self._value(below)
            self._path.pop()
        return found

    def _list(self, node: dict[Any, Any] | None) -> list[Any]:
        found: list[Any] = []
        self._enter()
        while self._more("]"):
            below = node.get(len(found)) if node else None
            self._path.append(len(found))
            if below is not None:
                self._peek()
                self._offsets[tuple(self._path)] = self._at
            found.append(self._value(below))
            self._path.pop()
        return found

    def _enter(self) -> None:
        if len(self._path) >= MAX_DEPTH:
            raise self._stop("is nested too deeply to be a document of ours", "look at what wrote it")
        self._at += 1
        self._begun = True

    def _more(self, end: str) -> bool:
        """Whether another item follows; passes the comma, or the end."""
        begun, self._begun = self._begun, False
        sign = self._peek()
        if not sign:
            raise self._stop(f"ends before the closing {end!r}", "the file is cut off; write it again")
        if sign == ",":
            comma = self._at
            self._at += 1
            if begun or self._peek() in (end, ","):
                self._problem("E-SYNTAX", "has a comma too many", "remove the comma", comma)
                return self._more(end) if self._peek() != end else self._close()
            return True
        if sign == end:
            return self._close()
        if not begun:
            if sign in "}]:":
                raise self._stop(f"has {sign!r} where a comma or {end!r} is needed", "correct the brackets")
            self._problem("E-SYNTAX", f"has no comma before {self._shown()}", "put a comma between the two")
        return True

    def _close(self) -> bool:
        self._at += 1
        return False

    def _string(self) -> str:
        if (match := _STRING.match(self._text, self._at)) is None:
            line = self._text[self._at : self._at + 200].split("\n")[0]
            raise self._stop(
                f"has a string without an end: {shown(line, 30)}",
                'close it with "; a line break in it is \\n',
            )
        offset, self._at = self._at, match.end()
        try:
            text = str(json.loads(match[0]))
        except json.JSONDecodeError as error:
            self._problem(
                "E-SYNTAX", f"has {_lower(error.msg)} in {shown(match[0], 30)}", "correct the escape", offset
            )
            return match[0][1:-1]
        if _HALF.search(text) is not None:
            self._problem(
                "E-SYNTAX", "holds half a surrogate pair in a string", "write whole characters", offset
            )
        return _HALF.sub("\N{REPLACEMENT CHARACTER}", text)

    def _word(self, word: str) -> Any:
        offset, self._at = self._at, self._at + len(word)
        if word in _WORDS:
            return _WORDS[word]
        if word in _NOT_FINITE:
            self._problem(
                "E-NOT-FINITE",
                f"holds {word}, which is no number of JSON",
                "leave it out, or null where allowed",
                offset,
            )
            return BROKEN
        try:
            return number(word)
        except RefusedError as error:
            meant = _MEANT.get(word)
            fix = (
                f"write {meant}"
                if meant
                else "write a number, true, false, null or a string in double quotes"
            )
            if word[0] in "-0123456789" and "no JSON number" not in str(error):
                self._problem("E-NUMBER", str(error), "write the number that was meant", offset)
            else:
                self._problem("E-SYNTAX", f"has {shown(word, 30)} where a value is needed", fix, offset)
        return BROKEN

    def _peek(self) -> str:
        """The next character that counts; empty at the end."""
        while True:
            sign = self._text[self._at : self._at + 1]
            if sign in _SPACES and sign and (space := _SPACE.match(self._text, self._at)):
                self._at = space.end()
            elif sign in _COMMENTS and sign and (comment := _COMMENT.match(self._text, self._at)):
                self._problem("E-SYNTAX", "has a comment, which JSON does not know", "use the field _comment")
                self._at = comment.end()
            else:
                return sign

    def _shown(self) -> str:
        return (
            shown(self._text[self._at : self._at + 200].split("\n")[0].strip(), 30)
            if self._peek()
            else "its end"
        )

    def _problem(self, code: str, message: str, fix: str, offset: int | None = None) -> None:
        self.problems.append(
            Problem(code, self._at if offset is None else offset, tuple(self._path), message, fix)
        )
        if len(self.problems) >= MAX_PROBLEMS:
            raise _StopError

    def _stop(self, message: str, fix: str) -> _StopError:
        self.problems.append(Problem("E-SYNTAX", self._at, tuple(self._path), message, fix))
        return _StopError()


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
