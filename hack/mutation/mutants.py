"""All mutants of a module: every fault at every place, each with a name that outlives a change of line numbers."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hack.mutation.edits import Edit, edits

SHOWN = 100
COMPOUND = (ast.If, ast.While, ast.For, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Mutant:
    """One fault. `function` is the dotted name of the function whose body it is in, None if Python meets it on import.

    `lines` are those of the statement; a test that runs none of them cannot notice.
    """

    module: str
    function: str | None
    change: str
    lines: range
    edit: Edit
    top: int
    """Which statement of the module it is in."""

    @property
    def name(self) -> str:
        return f"{self.module}{'.' + self.function if self.function else ''}: {self.change}"


@dataclass(frozen=True)
class Source:
    """One module of the package under test; `tree` is what the edits of its mutants change."""

    name: str
    path: Path
    tree: ast.Module
    mutants: tuple[Mutant, ...]


@dataclass(frozen=True)
class _Place:
    here: Edit
    function: str | None
    statement: ast.stmt
    context: tuple[ast.AST, ...]
    """Expressions around the node, the widest first."""
    top: int
    """Which statement of the module it is in."""


def read(path: Path) -> Source:
    """The module and its mutants, in the order of the source; faults that read the same are one."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    original = [ast.dump(one) for one in tree.body]
    seen: set[tuple[int, str]] = set()
    used = Counter[str]()
    mutants = []
    for node, place in _nodes(tree):
        for edit in edits(node, place.here, place.function is None):
            context = _context(node, place)
            before = _said(context, place)
            undo = edit.apply()
            after, dump = _said(context, place), ast.dump(tree.body[place.top])
            undo.apply()
            if dump == original[place.top] or (place.top, dump) in seen:
                continue
            seen.add((place.top, dump))
            change = f"{_short(before, after)} -> {_short(after, before)}"
            name = f"{place.function}: {change}"
            used[name] += 1
            if used[name] > 1:
                change += f" ({used[name]})"
            mutants.append(
                Mutant(path.stem, place.function, change, _lines(place.statement), edit, place.top)
            )
    return Source(path.stem, path, tree, tuple(mutants))


def _nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, _Place]]:
    for at, statement in enumerate(tree.body):
        yield from _walk(statement, _Place(Edit(tree, "body", at, None), None, statement, (), at), ())


def _walk(node: ast.AST, place: _Place, names: tuple[str, ...]) -> Iterator[tuple[ast.AST, _Place]]:
    if _is_skipped(node):
        return
    yield node, place
    inner = (*names, node.name) if isinstance(node, ast.FunctionDef | ast.ClassDef) else names
    for owner, field, at, child in _children(node):
        function = place.function
        if isinstance(node, ast.FunctionDef) and field == "body" and function is None:
            function = ".".join(inner)
        statement = child if isinstance(child, ast.stmt) else place.statement
        context = (*place.context, node) if isinstance(node, ast.expr) else ()
        if isinstance(node, ast.comprehension | ast.keyword | ast.Slice):
            context = place.context
        yield from _walk(
            child, _Place(Edit(owner, field, at, None), function, statement, context, place.top), inner
        )


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """What can hold a fault below a node. Annotations are for the type checker, but a model's limits are no annotation."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            calls = [one for one in ast.walk(value) if isinstance(one, ast.Call)] if value else []
            if isinstance(node, ast.AnnAssign):
                for call in calls:
                    yield from ((word, "value", None, word.value) for word in call.keywords)
        elif field == "format_spec":
            continue
        elif isinstance(value, list):
            yield from ((node, field, at, one) for at, one in enumerate(value) if isinstance(one, ast.AST))
        elif isinstance(value, ast.AST):
            yield node, field, None, value


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Assign):
        return any(isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _context(node: ast.AST, place: _Place) -> ast.AST:
    """The widest expression around the node that still is short."""
    for one in place.context:
        if len(ast.unparse(one)) <= SHOWN // 2 + 20:
            return one
    return node if isinstance(node, ast.expr) else place.statement


def _said(context: ast.AST, place: _Place) -> str:
    if isinstance(context, ast.stmt):
        return (
            _head(getattr(place.here.owner, place.here.field)[place.here.at])
            if _replaced(place)
            else _head(context)
        )
    if place.here.at is None:
        holder = getattr(place.here.owner, place.here.field)
    else:
        holder = getattr(place.here.owner, place.here.field)[place.here.at]
    node = holder if not place.context or context not in place.context else context
    return ast.unparse(node if isinstance(node, ast.expr) else context)


def _replaced(place: _Place) -> bool:
    field = getattr(place.here.owner, place.here.field, None)
    return (
        isinstance(field, list) and place.here.at is not None and isinstance(field[place.here.at], ast.stmt)
    )


def _head(statement: ast.AST) -> str:
    lines = ast.unparse(statement).splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith(("def ", "class "))), 0)
    return " ".join(lines[: at + 1]) if at else (lines or [""])[0]


def _short(text: str, other: str) -> str:
    """Cut around what differs."""
    if len(text) <= SHOWN:
        return text
    same = next(
        (i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other))
    )
    first = max(0, same - SHOWN // 2)
    cut = text[first : first + SHOWN]
    return ("…" if first else "") + cut + ("…" if first + SHOWN < len(text) else "")


def _lines(statement: ast.stmt) -> range:
    """Those of a simple statement, or of what a compound one has before its body."""
    last = statement.end_lineno or statement.lineno
    if isinstance(statement, COMPOUND):
        last = max(statement.lineno, statement.body[0].lineno - 1)
    return range(statement.lineno, last + 1)
