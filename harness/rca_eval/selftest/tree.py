"""Copies of the installed package: one whole, and one for each mutant, in which what is mutated differs."""

import compileall
import shutil
from pathlib import Path

import rca_eval
from rca_eval.contract import ContractError, Reason
from rca_eval.selftest.mutant import Mutant

PACKAGE = Path(rca_eval.__file__ or "").parent


def copy_package(folder: Path) -> Path:
    """`folder`/rca_eval: the package as it is now, compiled once, so that a change of the source during the run changes
    nothing. Returns `folder`. Raises `ContractError(FileUnreadable)`.
    """
    target = folder / PACKAGE.name
    try:
        shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    except (OSError, shutil.Error) as error:
        raise ContractError(
            Reason.FILE_UNREADABLE,
            f"the package at {PACKAGE} cannot be copied ({error}); install it unpacked.",
        ) from None
    compileall.compile_dir(target, quiet=2)
    return folder


def mutated(base: Path, mutant: Mutant, folder: Path) -> Path:
    """`folder`/rca_eval: links to the copy in `base`, and the mutated modules. Returns `folder`."""
    source = base / PACKAGE.name
    changed = {source / module: text for module, text in mutant.apply(source).items()}
    compiled = {(path.parent / "__pycache__", path.stem) for path in changed}
    for path in (source, *sorted(source.rglob("*"))):
        target = folder / PACKAGE.name / path.relative_to(source)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        elif path in changed:
            target.write_text(changed[path], encoding="utf-8")
        elif (path.parent, path.name.partition(".")[0]) not in compiled:
            target.symlink_to(path)
    return folder


def edited(tree: Path) -> list[str]:
    """The modules of a copy that are files of its own and no links; of the whole copy: all of them."""
    package = tree / PACKAGE.name
    return sorted(str(path.relative_to(package)) for path in package.rglob("*.py") if not path.is_symlink())
