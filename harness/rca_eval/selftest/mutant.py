"""A mutant: one small edit of the engine's source that imitates a mistake somebody could make. Pure."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rca_eval.contract import ContractError, Reason

GROUPS = (
    "weights",
    "terms",
    "tables",
    "windows",
    "order",
    "keys",
    "arithmetic",
    "graph",
    "change",
    "baro",
    "memory",
    "cap",
    "verification",
    "hypotheses",
    "modes",
    "answers",
)
# Modules of the step `prepare`: a mutant in one of them writes its own incidents.
PREPARING = ("job/past.py", "job/prepare.py", "job/project.py", "job/series.py")


@dataclass(frozen=True)
class Mutant:
    """`old` occurs exactly once in `module` (a path inside the package) and becomes `new`.

    `more` are further edits, each `(module, old, new)`, for a mistake that takes more than one place.
    `imitates` says in words which mistake this is. `equivalent` is the argument why no input at all can show
    a difference; such a mutant does not count, and must not be caught. `needs` says which incidents would
    catch it where the bundled ones do not.
    """

    name: str
    group: str
    module: str
    old: str
    new: str
    imitates: str
    equivalent: str = ""
    needs: str = ""
    more: tuple[tuple[str, str, str], ...] = ()

    @property
    def edits(self) -> dict[str, list[tuple[str, str]]]:
        """By module, what is replaced by what."""
        found: dict[str, list[tuple[str, str]]] = {}
        for module, old, new in ((self.module, self.old, self.new), *self.more):
            found.setdefault(module, []).append((old, new))
        return found

    @property
    def prepares(self) -> bool:
        """Whether the fault is, or is also, in the step that writes the incidents, before the engine runs."""
        return any(module in PREPARING for module in self.edits)

    def apply(self, package: Path) -> dict[str, str]:
        """The mutated source of each edited module. Raises `ValueError` with the reason why this mutant does not fit."""
        return {
            module: _edited((package / module).read_text(encoding="utf-8"), module, edits)
            for module, edits in self.edits.items()
        }


def _edited(source: str, module: str, edits: list[tuple[str, str]]) -> str:
    mutated = source
    for old, new in edits:
        found = source.count(old)
        if found != 1 or mutated.count(old) != 1:
            text = " ".join(old.split())[:40]
            raise ValueError(f"its old text `{text}` occurs {found} times in {module}, not once")
        mutated = mutated.replace(old, new)
    try:
        tree = ast.dump(ast.parse(mutated))
    except SyntaxError as error:
        raise ValueError(f"its new text is no Python ({error.msg})") from None
    if tree == ast.dump(ast.parse(source)):
        raise ValueError(f"it changes no code of {module}")
    return mutated


def outdated(mutants: Iterable[Mutant], package: Path) -> list[str]:
    """`name: why` of every mutant that does not fit the package's source; empty if all do."""
    problems = []
    for mutant in mutants:
        try:
            mutant.apply(package)
        except (OSError, ValueError) as error:
            problems.append(f"{mutant.name}: {error}")
    return problems


def select(mutants: Iterable[Mutant], only: Iterable[str], groups: Iterable[str]) -> tuple[Mutant, ...]:
    """The mutants with these names and those of these groups; all if nothing is asked. Raises `Usage`."""
    everything = tuple(mutants)
    names, wanted = list(only), list(groups)
    known = {mutant.name for mutant in everything}
    for name in names:
        if name not in known:
            raise ContractError(Reason.USAGE, f"--only {name} names no mutant; see --list.")
    for group in wanted:
        if group not in GROUPS:
            raise ContractError(
                Reason.USAGE, f"--group {group} names no group; there are {', '.join(GROUPS)}."
            )
    if not names and not wanted:
        return everything
    return tuple(m for m in everything if m.name in names or m.group in wanted)
