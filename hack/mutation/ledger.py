"""The mutants that no test can notice, each with the argument; and the table of all the others."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from hack.mutation.measure import Fate
from hack.mutation.mutants import Mutant
from hack.mutation.processes import BrokenError

NOTICED: tuple[Fate, ...] = ("killed", "timeout")
SHORTEST_REASON = 20


def equivalents(path: Path, mutants: Iterable[Mutant]) -> dict[str, str]:
    """Mutant's name to the argument why it changes nothing. Raises `BrokenError` for an entry that fits no mutant."""
    if not path.exists():
        return {}
    names = {one.name for one in mutants}
    found: dict[str, str] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", []):
        reason = str(entry.get("reason", "")).strip()
        for name in entry.get("mutants", []):
            if name not in names:
                raise BrokenError(
                    f"{path.name} names a mutant that there is not: {name}; take it out, or name it anew"
                )
            if name in found:
                raise BrokenError(f"{path.name} names {name} twice; take one out")
            if len(reason) < SHORTEST_REASON:
                raise BrokenError(f"{path.name} gives no reason for {name}; say why nothing can notice it")
            found[name] = reason
    return found


class Tally:
    """What became of the mutants."""

    def __init__(self, mutants: Sequence[Mutant], equivalent: Mapping[str, str]) -> None:
        self._mutants, self._equivalent = mutants, equivalent
        self.fates: dict[int, Fate] = {}

    @property
    def survivors(self) -> list[str]:
        return sorted(self._names(("survived", "unreached"), equivalent=False))

    @property
    def refuted(self) -> list[str]:
        """Called equivalent, and noticed all the same."""
        return sorted(self._names(NOTICED, equivalent=True))

    def share(self, module: str | None = None) -> Fraction | None:
        """Noticed of those that can be noticed; None where there are none."""
        counts = self._counts(module)
        noticed = sum(counts[fate] for fate in NOTICED)
        total = noticed + counts["survived"] + counts["unreached"]
        return Fraction(noticed, total) if total else None

    def table(self) -> str:
        heads = ("module", "mutants", "killed", "timeout", "survived", "unreached", "equivalent", "share")
        rows = [self._row(name, name) for name in sorted({one.module for one in self._mutants})]
        rows.append(self._row("all", None))
        widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
        return "\n".join(
            "  ".join(
                [
                    row[0].ljust(widths[0]),
                    *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)),
                ]
            )
            for row in (heads, *rows)
        )

    def _row(self, title: str, module: str | None) -> tuple[str, ...]:
        counts, share = self._counts(module), self.share(module)
        figures = (
            sum(counts.values()) - counts["stillborn"],
            *(counts[fate] for fate in ("killed", "timeout", "survived", "unreached", "equivalent")),
        )
        return title, *map(str, figures), "-" if share is None else f"{float(100 * share):.1f} %"

    def _counts(self, module: str | None) -> Counter[str]:
        counts = Counter[str]()
        for number, fate in self.fates.items():
            mutant = self._mutants[number]
            if module in (None, mutant.module):
                counts["equivalent" if mutant.name in self._equivalent else fate] += 1
        return counts

    def _names(self, fates: Sequence[Fate], *, equivalent: bool) -> list[str]:
        named = {self._mutants[number].name for number, fate in self.fates.items() if fate in fates}
        return [name for name in named if (name in self._equivalent) is equivalent]
