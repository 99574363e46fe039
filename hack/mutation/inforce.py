"""Two ways to put a changed module in force in this process, for good: what is forked from it forgets it again."""

import ast
import importlib.machinery
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import CodeType, FunctionType, ModuleType


def compiled(tree: ast.Module, path: Path) -> CodeType:
    """Raises `SyntaxError` or `ValueError` for a tree that is no program."""
    return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


def transplant(module: str, function: str, code: CodeType) -> None:
    """Give the function object that everybody has imported already the body that it has in `code`."""
    found = [one for one in _codes(code) if one.co_qualname == function]
    if len(found) != 1:
        raise LookupError(f"{module} has {len(found)} functions {function}")
    give(function_of(module, function), found[0])


def give(function: FunctionType, code: CodeType) -> None:
    with warnings.catch_warnings():
        # Without its only yield a generator becomes a plain function, which Python deprecates; here it is the fault.
        warnings.simplefilter("ignore", DeprecationWarning)
        function.__code__ = code


def function_of(module: str, function: str) -> FunctionType:
    """The plain function under a property, a static or class method, or a cache."""
    found: object = sys.modules[module]
    for name in function.split("."):
        found = vars(found)[name]
    for wrapper in ("fget", "__func__", "__wrapped__"):
        found = getattr(found, wrapper, None) or found
    if isinstance(found, FunctionType):
        return found
    raise LookupError(f"{module}.{function} is no function")


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)


class Override(MetaPathFinder, Loader):
    """Whoever imports one of these modules from now on gets this code. They must not be imported yet."""

    def __init__(self, modules: dict[str, tuple[CodeType, Path]]) -> None:
        loaded = sorted(name for name in modules if name in sys.modules)
        if loaded:
            raise LookupError(f"{loaded[0]} is imported already")
        self._modules = modules
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._modules:
            return None
        file = self._modules[fullname][1]
        places = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname, file, loader=self, submodule_search_locations=places
        )

    def create_module(self, _spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._modules[module.__name__][0], module.__dict__)
