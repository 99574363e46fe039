"""The pure parts hold no clock, no chance and no file system: found by reading their syntax trees.

`core`, `api`, `gate` and `contract` decide and describe. Whatever they need from the world is handed to
them, so that a test can hand them anything and the same input always gives the same bytes. import-linter
keeps the heavy packages out; this keeps out what the standard library would let in.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PURE = (
    "operator/rca_rollout/api",
    "operator/rca_rollout/core",
    "harness/rca_eval/contract",
    "harness/rca_eval/gate",
)
MODULES = frozenset(
    {
        "asyncio", "fcntl", "glob", "http", "importlib.resources", "multiprocessing", "os",
        "pkgutil", "requests", "secrets", "select", "shutil", "signal", "socket", "sqlite3",
        "subprocess", "tempfile", "threading", "time", "urllib.request",
    }
)  # fmt: skip
# Importable for their pure half only.
NAMES = {
    "io": frozenset({"BytesIO", "StringIO"}),
    "pathlib": frozenset({"PurePath", "PurePosixPath"}),
    "random": frozenset({"Random"}),
    "uuid": frozenset({"UUID", "uuid3", "uuid5"}),
}
CALLS = frozenset({"open", "print", "input", "breakpoint", "exec", "eval", "hash"})
METHODS = frozenset(
    {
        "now", "utcnow", "today", "read_text", "read_bytes", "write_text", "write_bytes",
        "unlink", "mkdir", "iterdir", "uuid1", "uuid4",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One place that is not pure."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def _banned(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in MODULES)


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if _banned(alias.name):
                yield f"imports {alias.name}"
        return
    module = node.module or ""
    if node.level:
        return
    for alias in node.names:
        if (
            _banned(module)
            or _banned(f"{module}.{alias.name}")
            or alias.name not in NAMES.get(module, {alias.name})
        ):
            yield f"imports {alias.name} from {module}"


def _attribute(node: ast.Attribute) -> Iterator[str]:
    if isinstance(node.value, ast.Name) and node.attr not in NAMES.get(node.value.id, {node.attr}):
        yield f"uses {node.value.id}.{node.attr}"


def _call(node: ast.Call) -> Iterator[str]:
    function = node.func
    if isinstance(function, ast.Name) and function.id in CALLS:
        yield f"calls {function.id}()"
    if not isinstance(function, ast.Attribute):
        return
    if function.attr in METHODS:
        yield f"calls .{function.attr}()"
    stamps = (
        isinstance(function.value, ast.Name) and function.value.id == "gzip" and function.attr == "compress"
    )
    if stamps and not any(keyword.arg == "mtime" for keyword in node.keywords):
        yield "calls gzip.compress() without mtime, which writes the clock into the result"


def scan(source: str, path: str) -> list[Finding]:
    """What is not pure in one module."""
    findings: list[Finding] = []
    try:
        tree = ast.parse(source, path)
    except SyntaxError as error:
        return [Finding(path, error.lineno or 0, f"is no Python: {error.msg}")]
    for node in ast.walk(tree):
        found: Iterator[str] = iter(())
        if isinstance(node, ast.Import | ast.ImportFrom):
            found = _imports(node)
        elif isinstance(node, ast.Attribute):
            found = _attribute(node)
        elif isinstance(node, ast.Call):
            found = _call(node)
        findings += [Finding(path, getattr(node, "lineno", 0), what) for what in found]
    return sorted(findings, key=lambda finding: finding.line)


def files(root: Path = ROOT) -> list[Path]:
    """Every module of a pure package, whether it is a folder or a single file."""
    found: list[Path] = []
    for name in PURE:
        package = root / name
        found += sorted(package.rglob("*.py"))
        found += [module for module in [package.with_suffix(".py")] if module.is_file()]
    return found


def main(arguments: Sequence[str] = ()) -> int:
    del arguments
    findings = [
        finding
        for path in files()
        for finding in scan(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    ]
    for finding in findings:
        print(finding)
    if findings:
        print("The pure parts may not do this: pass the value in instead (see hack/purity.py).")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
