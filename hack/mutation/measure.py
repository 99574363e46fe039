"""Ask the tests about every mutant. What is in a function's body goes into processes forked after all imports; what Python
meets on import (tables, limits, decorators, defaults) needs the imports again.
"""

import ast
import json
import math
import mmap
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import pytest

from hack.mutation.inforce import Override, compiled, function_of, give, transplant
from hack.mutation.mutants import Mutant, Source
from hack.mutation.processes import STILLBORN, BrokenError, forked
from hack.mutation.suite import Loop, Recorded, collect, first_failure, record

Fate = Literal["killed", "timeout", "survived", "unreached", "stillborn"]
WHOLE_SUITE_CPU = 600
FEWEST_CPU = 4
QUICK_SECONDS = 0.1


@dataclass(frozen=True)
class Target:
    """What is mutated, and by which tests. Tests that use a fixture or name in `without` are left out: too slow."""

    folder: Path
    package: str
    tests: tuple[str, ...]
    without: tuple[str, ...]

    def dotted(self, stem: str) -> str:
        return self.package if stem == "__init__" else f"{self.package}.{stem}"


@dataclass(frozen=True)
class Result:
    number: int
    fate: Fate


class Measurement:
    """One run over some mutants; `sources` are the modules that they and the self-checks change."""

    def __init__(
        self, target: Target, sources: Sequence[Source], mutants: Sequence[Mutant], base: Path
    ) -> None:
        self._target, self._base, self._mutants = target, base, mutants
        self._sources = {one.name: one for one in sources}
        self._recorded: list[Recorded] = []
        # What noticed the last mutants of a function mostly notices the next: by function, by module, and how often.
        self._noticed: dict[str, Counter[str]] = {}
        self._first = mmap.mmap(-1, 4)  # shared with the children: the place of the test that failed

    def results(self) -> Iterator[Result]:
        """Those of function bodies first. Raises `BrokenError` if a measurement would mean nothing."""
        modules: list[str] = []
        for message in self._child():
            if "broken" in message:
                raise BrokenError(message["broken"])
            if "recorded" in message:
                self._recorded = [Recorded(**one) for one in message["recorded"]]
                modules = message["modules"]
            else:
                yield Result(message["number"], message["fate"])
        if not self._recorded:
            raise BrokenError("the process that runs the tests ended early; run again")
        late = [number for number, one in enumerate(self._mutants) if one.function is None]
        if late:
            self._preload(modules)
            self._check_imports({self._mutants[number].module for number in late})
        for number in late:
            yield Result(number, self._imported(self._mutants[number]))

    # The quick way: after all imports.

    def _child(self) -> Iterator[dict[str, Any]]:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(reading)
                with os.fdopen(writing, "w", encoding="utf-8") as pipe:
                    self._serve(lambda message: print(json.dumps(message), file=pipe, flush=True))
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            for line in pipe:
                yield json.loads(line)
        os.waitpid(child, 0)

    def _serve(self, say: Callable[[dict[str, Any]], None]) -> None:
        def work(items: list[pytest.Item]) -> int:
            try:
                self._record(items, say)
                self._check_transplants(items)
                for number, mutant in enumerate(self._mutants):
                    if mutant.function is not None:
                        say({"number": number, "fate": self._transplanted(mutant, items)})
            except BrokenError as error:
                say({"broken": str(error)})
            return 0

        code = collect(self._target.tests, self._base, Loop(work, self._target.without))
        if code != 0:
            say({"broken": f"pytest cannot collect the tests (exit {code}); run them alone first"})

    def _record(self, items: list[pytest.Item], say: Callable[[dict[str, Any]], None]) -> None:
        files = {str(one.path): one.name for one in self._sources.values()}
        answer = self._base.with_suffix(".json")

        def work() -> int:
            found = record(items, files)
            text = {"failed": found} if isinstance(found, str) else {"tests": [asdict(one) for one in found]}
            answer.write_text(json.dumps(text), encoding="utf-8")
            return 0

        code = forked(work, cpu_seconds=WHOLE_SUITE_CPU)
        found: dict[str, Any] = (
            json.loads(answer.read_text(encoding="utf-8")) if code == 0 else {"failed": f"exit {code}"}
        )
        if "failed" in found:
            raise BrokenError(f"the tests fail without a mutant: {found['failed']}; make them pass first")
        if not any(one["lines"] for one in found["tests"]):
            raise BrokenError(f"no test runs a line of {self._target.package}; name other tests")
        self._recorded = [Recorded(**one) for one in found["tests"]]
        say({"recorded": found["tests"], "modules": sorted(sys.modules)})

    def _check_transplants(self, items: list[pytest.Item]) -> None:
        """The functions' own bodies, compiled anew, change nothing; a body that raises is noticed, in each module."""

        def same() -> int:
            for source in self._sources.values():
                code = compiled(source.tree, source.path)
                for name in {one.function for one in source.mutants if one.function}:
                    transplant(self._target.dotted(source.name), name, code)
            return 1 if first_failure(quick) else 0

        slow = {one.test for one in self._recorded if one.seconds > QUICK_SECONDS}
        quick = [one for one in items if one.nodeid not in slow]
        if forked(same, cpu_seconds=WHOLE_SUITE_CPU) != 0:
            raise BrokenError("a mutant that changes nothing was noticed; the figures would mean nothing")
        for source in self._sources.values():
            name, tests = self._a_function(source, items)
            if name is None:
                continue

            def raises(source: Source = source, name: str = name, tests: list[pytest.Item] = tests) -> int:
                give(function_of(self._target.dotted(source.name), name), _raising.__code__)
                return 1 if first_failure(tests) else 0

            if forked(raises, cpu_seconds=WHOLE_SUITE_CPU) != 1:
                raise BrokenError(
                    f"{source.name}.{name} may raise without any test noticing; the figures would mean nothing"
                )

    def _a_function(self, source: Source, items: list[pytest.Item]) -> tuple[str | None, list[pytest.Item]]:
        for mutant in source.mutants:
            if mutant.function and (tests := self._reaching(mutant, items)):
                return mutant.function, tests
        return None, []

    def _transplanted(self, mutant: Mutant, items: list[pytest.Item]) -> Fate:
        tests = self._reaching(mutant, items)
        if not tests:
            return "unreached"
        source = self._sources[mutant.module]

        def work() -> int:
            mutant.edit.apply()
            try:
                code = compiled(ast.Module([source.tree.body[mutant.top]], []), source.path)
            except (SyntaxError, ValueError):
                return STILLBORN
            transplant(self._target.dotted(mutant.module), str(mutant.function), code)
            return self._asked(tests)

        return self._learned(
            mutant,
            forked(work, cpu_seconds=self._limit([one.nodeid for one in tests])),
            [one.nodeid for one in tests],
        )

    def _asked(self, tests: list[pytest.Item]) -> int:
        failed = first_failure(tests)
        if failed is None:
            return 0
        place = next(at for at, one in enumerate(tests) if one.nodeid == failed)
        self._first[:] = place.to_bytes(4, "big")
        return 1

    def _learned(self, mutant: Mutant, code: int, order: Sequence[str]) -> Fate:
        if code == 1 and (place := int.from_bytes(self._first[:], "big")) < len(order):
            for key in (mutant.module, f"{mutant.module}.{mutant.function}"):
                self._noticed.setdefault(key, Counter())[order[place]] += 1
        return _fate(code)

    def _rank(self, mutant: Mutant) -> Callable[[Recorded], tuple[object, ...]]:
        """What noticed others of the function first, then others of the module, then the quick ones."""
        near = self._noticed.get(f"{mutant.module}.{mutant.function}", Counter())
        module = self._noticed.get(mutant.module, Counter())
        return lambda one: (-near[one.test], -module[one.test], one.seconds, one.test)

    def _reaching(self, mutant: Mutant, items: list[pytest.Item]) -> list[pytest.Item]:
        """Tests that run a line of the statement, the likeliest to notice first."""
        wanted = set(mutant.lines)
        rows = [one for one in self._recorded if wanted & set(one.lines.get(mutant.module, ()))]
        by_id = {item.nodeid: item for item in items}
        return [by_id[one.test] for one in sorted(rows, key=self._rank(mutant))]

    # The thorough way: the imports again.

    def _preload(self, modules: Sequence[str]) -> None:
        """Everything that the tests import and that does not import the package, so that no mutant pays for it."""
        own = {self._target.package.partition(".")[0]}
        skipped = own | {
            name
            for name in modules
            if "." not in name and name.startswith(("test", "conftest", "rca_", "__"))
        }
        for name in modules:
            if name.partition(".")[0] not in skipped and name not in sys.modules:
                try:
                    import_module(name)
                except Exception:
                    continue  # a test's own name; pytest imports it
        early = [name for name in sys.modules if name.startswith(self._target.package)]
        if early:
            raise BrokenError(f"{early[0]} was imported before its mutants; this is a fault of hack.mutation")

    def _check_imports(self, names: set[str]) -> None:
        if self._run_imported(sorted(names), raising=None) != 0:
            raise BrokenError(
                "a module that was imported unchanged was noticed; the figures would mean nothing"
            )
        for name in sorted(names):
            if self._run_imported([name], raising=name) != 1:
                raise BrokenError(
                    f"{name} may raise on import without any test noticing; the figures would mean nothing"
                )

    def _imported(self, mutant: Mutant) -> Fate:
        order = self._order([mutant.module], mutant)
        return self._learned(mutant, self._run_imported([mutant.module], mutant=mutant), order)

    def _order(self, names: Sequence[str], mutant: Mutant | None) -> list[str]:
        """All tests, those that run something of these modules first."""
        near = {one.test for one in self._recorded if any(name in one.lines for name in names)}
        rows = sorted(
            self._recorded, key=self._rank(mutant) if mutant else lambda one: (one.seconds, one.test)
        )
        return [one.test for one in sorted(rows, key=lambda one: one.test not in near)]

    def _run_imported(
        self, names: Sequence[str], *, mutant: Mutant | None = None, raising: str | None = None
    ) -> int:
        order = self._order(names, mutant)
        self._first[:] = b"\xff" * 4

        def work() -> int:
            if mutant is not None:
                mutant.edit.apply()
            if raising is not None:
                self._sources[raising].tree.body.append(ast.parse("raise RuntimeError('a mutant')").body[0])
            codes = {}
            for name in names:
                source = self._sources[name]
                try:
                    codes[self._target.dotted(name)] = compiled(source.tree, source.path), source.path
                except (SyntaxError, ValueError):
                    return STILLBORN
            Override(codes)
            found = collect(self._target.tests, self._base, Loop(run, self._target.without))
            return 1 if found == 60 + pytest.ExitCode.USAGE_ERROR else found  # conftest.py cannot be imported

        def run(items: list[pytest.Item]) -> int:
            by_id = {item.nodeid: item for item in items}
            if set(by_id) != set(order):
                return 1  # the tests themselves are made from the package's tables
            return self._asked([by_id[one] for one in order])

        return forked(work, cpu_seconds=self._limit(order) + 20)

    def _limit(self, tests: Sequence[str]) -> int:
        seconds = {one.test: one.seconds for one in self._recorded}
        return FEWEST_CPU + math.ceil(3 * sum(seconds[one] for one in tests))


def _fate(code: int) -> Fate:
    if code in (0, 1):
        return "survived" if code == 0 else "killed"
    if code == STILLBORN:
        return "stillborn"
    if code < 0:  # the limit of the processor's time, or a crash
        return "timeout"
    raise BrokenError(f"a mutant's process ended with {code}; run again, with --only and --verbose")


def _raising(*_arguments: object, **_keywords: object) -> None:
    raise RuntimeError("a mutant")
