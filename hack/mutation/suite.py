"""The tests, as pytest collects them: run them to the first failure, and see which lines each of them runs."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings

TOOL = 4  # of sys.monitoring; 0 to 2 and 5 have names
EXAMPLES = 8
SETTINGS = "_hypothesis_internal_use_settings"


@dataclass(frozen=True)
class Recorded:
    """One test of the unmutated run: how long it took, and the lines of the package that it ran, by module."""

    test: str
    seconds: float
    lines: dict[str, list[int]]


class Loop:
    """A pytest plugin that does `work` instead of running what was collected. Its result is in `code`."""

    def __init__(self, work: Callable[[list[pytest.Item]], int], without: Iterable[str]) -> None:
        self._work, self._without, self.code = work, set(without), -1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport | None:
        """Nobody reads why a mutant was noticed, and the text costs more than the test."""
        if (
            call.excinfo is None
            or call.when == "collect"
            or call.excinfo.errisinstance(pytest.skip.Exception)
        ):
            return None
        return pytest.TestReport(item.nodeid, item.location, {}, "failed", "", call.when)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:  # of a file that cannot be imported
            self.code = 1
            return True
        items = [one for one in session.items if not self._without & _used(one)]
        for item in items:
            _calm(item)
        self.code = self._work(items)
        return True


def collect(tests: Sequence[str], base: Path, plugin: Loop) -> int:
    """pytest's own exit code if it did not get to the loop, else what the loop's work returned."""
    arguments = ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist", "--basetemp", str(base)]
    arguments += ["--assert=plain"]
    arguments += ["--continue-on-collection-errors", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    found = pytest.main([*arguments, *tests], plugins=[plugin])
    return plugin.code if plugin.code >= 0 else 60 + int(found)


def first_failure(items: Sequence[pytest.Item]) -> str | None:
    """The id of the first test that fails in any of its phases, in the order given."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return None


def record(items: Sequence[pytest.Item], files: dict[str, str]) -> list[Recorded] | str:
    """Every test with its lines; the id of a test instead, if one fails. `files` is file name to module."""
    seen: set[tuple[str, int]] = set()

    def on_line(code: CodeType, line: int) -> Any:
        module = files.get(code.co_filename)
        if module is not None:
            seen.add((module, line))
        return sys.monitoring.DISABLE

    monitoring = sys.monitoring
    monitoring.use_tool_id(TOOL, "mutation")
    monitoring.register_callback(TOOL, monitoring.events.LINE, on_line)
    monitoring.set_events(TOOL, monitoring.events.LINE)
    found = []
    for item, following in zip(items, [*items[1:], None], strict=True):
        seen.clear()
        monitoring.restart_events()
        start = time.process_time()
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
        lines: dict[str, list[int]] = {}
        for module, line in sorted(seen):
            lines.setdefault(module, []).append(line)
        found.append(Recorded(item.nodeid, time.process_time() - start, lines))
    monitoring.free_tool_id(TOOL)
    return found


def _used(item: pytest.Item) -> set[str]:
    """The fixtures that a test has, and the names outside of it that it uses."""
    code = getattr(getattr(item, "function", None), "__code__", None)
    return {*getattr(item, "fixturenames", ()), *(code.co_names if code else ())}


def _calm(item: pytest.Item) -> None:
    """Fewer examples, the same in every process, and no search for the smallest: one failure is enough."""
    test = getattr(item, "obj", None)
    if getattr(test, "is_hypothesis_test", False):
        own = getattr(test, SETTINGS)
        fewer = settings(
            own,
            max_examples=min(own.max_examples, EXAMPLES),
            database=None,
            derandomize=True,
            deadline=None,
            phases=(Phase.explicit, Phase.generate),
        )
        setattr(test, SETTINGS, fewer)
