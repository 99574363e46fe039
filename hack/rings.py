"""`make test`: the rings of tests, each with the cluster it needs, and one line per ring at the end.

    unit      pure: models, gate, decisions, the harness             nothing
    emulated  kopf in process against an emulated API server         nothing
    process   the agent, the self-test, PostgreSQL and Prometheus    Debian's packages of these two
    cluster   the real API server: schemas, RBAC, conflicts          a control plane, no root
    node      the chart installed, images built, Jobs really run     a node: Docker, or root on Linux

`python -m hack.rings unit emulated` runs those two; what follows `--` goes to pytest (`-- -k gate -x`). Files of the ring
that are named there (`node -- tests/node/test_shards.py`) are run instead of all of it.

What the tests of a ring find in their environment:

    RCA_TEST_RING                the ring's name
    RCA_TEST_CLUSTER             cluster, node: the name for `python -m hack.cluster … --name`
    RCA_TEST_KUBECONFIG          cluster, node: the kubeconfig's path
    RCA_TEST_BIN                 cluster, node: a directory with kubectl and helm
    RCA_TEST_OPERATOR_IMAGE      node: images that are on the node already
    RCA_TEST_HARNESS_IMAGE
    RCA_TEST_PLAIN_ENGINE_IMAGE

The clusters are called rca-api and rca-test; RCA_TEST_NAME=x makes that x-api and x-test. One that was not
up before is taken down afterwards, unless RCA_TEST_KEEP=1. RCA_CLUSTER_CONTEXT names
a context of your own kubeconfig to use instead. With CI=true a ring that was skipped counts as failed:
green must mean that it ran.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from hack import images
from hack.cluster import engine, localnode

ROOT = Path(__file__).resolve().parents[1]
# Two checkouts on one machine can test at the same time under names of their own.
API, NODE = (f"{os.environ.get('RCA_TEST_NAME', 'rca')}-{part}" for part in ("api", "test"))
# A ring that hangs must not hang CI: far above what the slowest ring needs on two busy cores.
RING_TIMEOUT = float(os.environ.get("RCA_RING_TIMEOUT", "1800"))
NOTHING_COLLECTED = 5
# Files of these rings share nothing, or only a node on which each has namespaces of its own, so they go side by side, in at
# most so many processes. Those of the node wait most of the time; what they wait for has two cores in CI.
MOST_WORKERS = {"unit": 4, "emulated": 4, "process": 4, "node": 2}


class UnavailableError(Exception):
    """This machine cannot give the ring what it needs; the text says what to do."""


class SetupError(Exception):
    """The machine could, but it did not work; whoever failed has said why."""


@dataclass(frozen=True)
class Counts:
    """What pytest's JUnit file says; errors count as failures."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped


@dataclass(frozen=True)
class Result:
    """How a ring went. `why` is set when it did not run as it should."""

    ring: str
    ran: bool
    counts: Counts = field(default_factory=Counts)
    seconds: float = 0.0
    why: str = ""

    def failures(self, *, ci: bool) -> int:
        """Failed tests, and one more for a ring that should have run and did not."""
        if self.ran:
            return self.counts.failed
        return 1 if ci or self.counts.failed else 0

    def line(self, *, ci: bool) -> str:
        counts = f"{self.counts.passed} passed, {self.counts.failed} failed, {self.counts.skipped} skipped"
        if self.ran:
            return f"{self.ring:<9} ran      {counts}, {self.seconds:.0f} s" + (
                f" ({self.why})" if self.why else ""
            )
        word = "FAILED " if self.failures(ci=ci) else "skipped"
        return f"{self.ring:<9} {word}  {self.why}"


def read_junit(path: Path) -> Counts:
    """The counts of a JUnit file; one failure when pytest died before it wrote a readable one."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return Counts(failed=1)
    suites = [root] if root.tag == "testsuite" else root.findall("testsuite")

    def total(name: str) -> int:
        return sum(int(suite.get(name, "0")) for suite in suites)

    failed = total("failures") + total("errors")
    # A test whose teardown fails is counted as an error beside its pass; never report less than none.
    return Counts(max(0, total("tests") - failed - total("skipped")), failed, total("skipped"))


def _cluster(*arguments: str, timeout: float | None = None) -> str:
    command = [sys.executable, "-m", "hack.cluster", *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        raise SetupError(f"`python -m {' '.join(command[2:])}` failed, see above")
    return done.stdout.strip()


def _is_up(name: str) -> bool:
    command = [sys.executable, "-m", "hack.cluster", "status", "--json", "--name", name]
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    try:
        return str(json.loads(done.stdout)["state"]) != "absent"
    except (ValueError, KeyError, TypeError):
        return False


@contextmanager
def _running(name: str, *flags: str) -> Iterator[dict[str, str]]:
    """A cluster for the time of a ring: left as it was found."""
    keep = os.environ.get("RCA_TEST_KEEP") == "1" or _is_up(name)
    try:
        kubeconfig = _cluster("up", "--name", name, *flags)
        binaries = _cluster("ensure-tools", "kubectl", "helm")
        yield {"RCA_TEST_CLUSTER": name, "RCA_TEST_KUBECONFIG": kubeconfig, "RCA_TEST_BIN": binaries}
    finally:
        if not keep:
            _cluster("down", "--name", name)


@contextmanager
def _nothing() -> Iterator[dict[str, str]]:
    yield {}


@contextmanager
def _control_plane() -> Iterator[dict[str, str]]:
    if os.environ.get("RCA_CLUSTER_CONTEXT"):
        with _running(NODE) as environment:
            yield environment
        return
    # Not the node's cluster: these tests play the part of the Job controller's Pods themselves.
    with _running(API, "--control-plane-only") as environment:
        yield environment


@contextmanager
def _node() -> Iterator[dict[str, str]]:
    if (
        not os.environ.get("RCA_CLUSTER_CONTEXT")
        and not engine.docker_answers()
        and not localnode.may_run_a_node()
    ):
        raise UnavailableError("needs a Docker engine that answers, or root on Linux")
    with _running(NODE) as environment:
        try:
            images.load(NODE)
        except subprocess.CalledProcessError as error:
            raise SetupError("the images could not be built and loaded, see above") from error
        names = {
            "RCA_TEST_OPERATOR_IMAGE": images.OPERATOR.name,
            "RCA_TEST_HARNESS_IMAGE": images.HARNESS.name,
            "RCA_TEST_PLAIN_ENGINE_IMAGE": images.PLAIN_ENGINE.name,
        }
        with _kinds(environment):
            yield {**environment, **names}


@contextmanager
def _kinds(environment: Mapping[str, str]) -> Iterator[None]:
    """Our kinds, for all files of the ring at once: a file that took them away would take them from the others."""
    kubectl = [f"{environment['RCA_TEST_BIN']}/kubectl", f"--kubeconfig={environment['RCA_TEST_KUBECONFIG']}"]

    def run(*arguments: str) -> str:
        done = subprocess.run([*kubectl, *arguments], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SetupError(f"`kubectl {' '.join(arguments)}` failed, see above")
        return done.stdout

    def present() -> set[str]:
        return {
            name for name in run("get", "crd", "-o", "name").split() if name.endswith(".rca.bluerobin.io")
        }

    before = present()
    run("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    run("wait", "--for=condition=Established", "--timeout=120s", "-f", str(ROOT / "crds"))
    try:
        yield
    finally:
        if made := sorted(present() - before):
            run("delete", "--wait=false", *made)


RINGS: Mapping[str, Callable[[], AbstractContextManager[dict[str, str]]]] = {
    "unit": _nothing,
    "emulated": _nothing,
    "process": _nothing,
    "cluster": _control_plane,
    "node": _node,
}


def workers(ring: str, extra: Sequence[str]) -> list[str]:
    """How many processes a ring's tests run in; one when a person wants to debug, or says how many."""
    asked = any(option.startswith(("-n", "--numprocesses", "--pdb", "--trace")) for option in extra)
    cores = min(os.cpu_count() or 1, MOST_WORKERS.get(ring, 1))
    if asked or cores < 2:
        return []
    # Else the files with the fewest tests come last: on the node, those that wait for minutes to pass.
    order = ["--no-loadscope-reorder"] if ring == "node" else []
    return [f"--numprocesses={cores}", "--dist=loadfile", *order]


def folder(ring: str, extra: Sequence[str]) -> list[str]:
    """The ring's folder, but not beside files of it that a person named: pytest would run both."""
    named = any(option.startswith(f"tests/{ring}/") for option in extra)
    return [] if named else [f"tests/{ring}"]


def _pytest(ring: str, environment: Mapping[str, str], extra: Sequence[str]) -> tuple[Counts, int]:
    """Run one ring's tests with their output as it comes; one out of time is ended with its children."""
    with tempfile.TemporaryDirectory(prefix="rca-ring-") as scratch:
        junit = Path(scratch) / "junit.xml"
        command = [sys.executable, "-m", "pytest", *folder(ring, extra), f"--junit-xml={junit}"]
        command += [*workers(ring, extra), *extra]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "RCA_TEST_RING": ring, **environment},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=RING_TIMEOUT)
        except subprocess.TimeoutExpired:
            print(f"rings: {ring} did not end within {RING_TIMEOUT:.0f} s", flush=True)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return Counts(failed=1), -signal.SIGKILL
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(timeout=30)
            raise
        return read_junit(junit), status


def run(ring: str, extra: Sequence[str]) -> Result:
    """One ring, from nothing to nothing."""
    began = time.monotonic()
    print(f"\n== {ring} ==", flush=True)

    def elapsed() -> float:
        return time.monotonic() - began

    if not any((ROOT / "tests" / ring).rglob("test_*.py")):
        return Result(
            ring, ran=False, counts=Counts(failed=1), why=f"tests/{ring} holds no tests", seconds=elapsed()
        )
    try:
        with RINGS[ring]() as environment:
            counts, status = _pytest(ring, environment, extra)
    except UnavailableError as error:
        return Result(ring, ran=False, why=str(error), seconds=elapsed())
    except SetupError as error:
        return Result(ring, ran=False, counts=Counts(failed=1), why=str(error), seconds=elapsed())
    return judge(ring, counts, status, elapsed(), selected=bool(extra))


def judge(ring: str, counts: Counts, status: int, seconds: float, *, selected: bool) -> Result:
    """What pytest's exit status and counts mean together: neither alone is believed."""
    if status == NOTHING_COLLECTED and selected:
        return Result(ring, ran=True, counts=Counts(), seconds=seconds, why="nothing selected")
    if status != 0 and counts.failed == 0:
        failed = Counts(counts.passed, 1, counts.skipped)
        return Result(
            ring, ran=True, counts=failed, seconds=seconds, why=f"pytest ended with exit status {status}"
        )
    if counts.total and counts.total == counts.skipped:
        return Result(
            ring,
            ran=False,
            counts=counts,
            seconds=seconds,
            why=f"all {counts.skipped} tests skipped themselves",
        )
    return Result(ring, ran=True, counts=counts, seconds=seconds)


def summary(results: Sequence[Result], *, ci: bool) -> tuple[str, int]:
    """The closing lines, and the exit status."""
    passed = sum(result.counts.passed for result in results)
    failed = sum(result.failures(ci=ci) for result in results)
    lines = [
        "",
        "rings:",
        *(f"  {result.line(ci=ci)}" for result in results),
        f"{passed} passed, {failed} failed",
    ]
    return "\n".join(lines), 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    cut = given.index("--") if "--" in given else len(given)
    parser = argparse.ArgumentParser(prog="python -m hack.rings", description=__doc__.split("\n", 1)[0])
    parser.add_argument("rings", nargs="*", metavar="RING", help=f"{', '.join(RINGS)} (default: all)")
    options = parser.parse_args(given[:cut])
    unknown = [ring for ring in options.rings if ring not in RINGS]
    if unknown:
        parser.error(f"there is no ring {unknown[0]!r}; there are {', '.join(RINGS)}")
    results = [run(ring, given[cut + 1 :]) for ring in options.rings or list(RINGS)]
    text, status = summary(results, ci=os.environ.get("CI", "").lower() in {"1", "true"})
    print(text, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
