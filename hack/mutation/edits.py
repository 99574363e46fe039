"""Which small faults there are for one node of a syntax tree. A fault is a change in place, and it can be undone."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
TWINS = {"max": "min", "min": "max", "any": "all", "all": "any", "gt": "lt", "lt": "gt"}

SYMMETRIC = {"min", "max", "add", "multiply"}
"""Calls whose arguments may be swapped for no difference."""


@dataclass(frozen=True)
class Edit:
    """Put `new` where `owner` holds something else: in a field, or at a place of a field that is a list."""

    owner: ast.AST
    field: str
    at: int | None
    new: Any

    def apply(self) -> "Edit":
        """Do it; returns the edit that undoes it."""
        if self.at is None:
            undo = Edit(self.owner, self.field, None, getattr(self.owner, self.field))
            setattr(self.owner, self.field, self.new)
            return undo
        items = getattr(self.owner, self.field)
        undo = Edit(self.owner, self.field, self.at, items[self.at])
        items[self.at] = self.new
        return undo


def edits(node: ast.AST, here: Edit, outside: bool) -> Iterator[Edit]:
    """The faults of `node`, which stands at the place of `here`; `outside` of functions tables have faults of their own."""
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                yield from (Edit(node, "ops", at, other()) for other in COMPARISONS[type(op)])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield Edit(node, "op", None, ARITHMETIC[type(op)]())
            if isinstance(node, ast.AugAssign):
                yield _put(here, ast.Pass())
        case ast.BoolOp(op=op, values=values):
            yield Edit(node, "op", None, ast.Or() if isinstance(op, ast.And) else ast.And())
            if len(values) == 2:
                yield from (_put(here, one) for one in reversed(values))
            else:
                yield from (_without(node, "values", at) for at in range(len(values)))
        case ast.UnaryOp(operand=operand):
            yield _put(here, operand)
        case ast.IfExp(test=test) | ast.If(test=test) | ast.While(test=test) if not _has_a_negation(test):
            yield Edit(node, "test", None, ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=ifs):
            for at, test in enumerate(ifs):
                if not _has_a_negation(test):
                    yield Edit(node, "ifs", at, ast.UnaryOp(ast.Not(), test))
                yield _without(node, "ifs", at)
        case ast.Constant():
            yield from (_put(here, ast.Constant(value)) for value in _constants(node.value))
        case ast.Call():
            yield from _calls(node, here)
        case ast.Slice(lower=lower, upper=upper):
            yield from (
                Edit(node, name, None, None) for name, had in (("lower", lower), ("upper", upper)) if had
            )
        case ast.stmt():
            yield from _statements(node, here, outside)
        case ast.Tuple(elts=elts) if (
            outside and len(elts) > 1 and all(isinstance(one, ast.Tuple) for one in elts)
        ):
            for at in range(len(elts)):
                yield _without(node, "elts", at)
            for at in range(len(elts) - 1):
                yield Edit(node, "elts", None, [*elts[:at], elts[at + 1], elts[at], *elts[at + 2 :]])


def _has_a_negation(test: ast.expr) -> bool:
    """Of itself: as a comparison it gets the other operator, and `not` is taken away."""
    return isinstance(test, ast.UnaryOp) or (isinstance(test, ast.Compare) and len(test.ops) == 1)


def _constants(value: object) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    return [f"XX{value}"] if isinstance(value, str) else []


def _calls(node: ast.Call, here: Edit) -> Iterator[Edit]:
    args = node.args
    match node.func:
        case ast.Name(id="sorted"):
            yield _put(here, ast.Call(ast.Name("list", ast.Load()), args, []))
        case ast.Name(id=name) if name in TWINS:
            yield Edit(node, "func", None, ast.Name(TWINS[name], ast.Load()))
    symmetric = (
        isinstance(node.func, ast.Name | ast.Attribute)
        and ast.unparse(node.func).rpartition(".")[2] in SYMMETRIC
    )
    if len(args) > 1 and not symmetric and not any(isinstance(one, ast.Starred) for one in args[:2]):
        yield Edit(node, "args", None, [args[1], args[0], *args[2:]])
    yield from (_without(node, "keywords", at) for at in range(len(node.keywords)))


def _statements(node: ast.stmt, here: Edit, outside: bool) -> Iterator[Edit]:
    match node:
        case ast.Return(value=value) if value and not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            yield Edit(node, "value", None, ast.Constant(None))
        case ast.Assign() if outside:
            return  # a name that is missing on import says so itself
        case ast.Expr() | ast.Assign() | ast.Raise() | ast.Delete():
            yield _put(here, ast.Pass())
        case ast.AnnAssign(value=value) if value:
            yield Edit(node, "value", None, None)
        case ast.Continue():
            yield from (_put(here, ast.Pass()), _put(here, ast.Break()))
        case ast.Break():
            yield _put(here, ast.Continue())
        case ast.FunctionDef() | ast.ClassDef():
            yield from (_without(node, "decorator_list", at) for at in range(len(node.decorator_list)))


def _put(here: Edit, new: ast.AST) -> Edit:
    return Edit(here.owner, here.field, here.at, new)


def _without(node: ast.AST, field: str, at: int) -> Edit:
    items = getattr(node, field)
    return Edit(node, field, None, [*items[:at], *items[at + 1 :]])
