"""The process itself: when it ends, what its probe and its metrics say, and that it never blocks its loop."""

import asyncio
import logging
import socket
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import aiohttp
import pytest
from kopf._core.engines import probing
from prometheus_client.parser import text_string_to_metric_families
from rca_testing.emulator import clock
from rca_testing.emulator.lab import Lab
from rca_testing.emulator.server import Fault, refuse

from rca_rollout.kube.errors import RefusedError
from rca_rollout.runtime.preflight import MissingKindsError
from rca_rollout.runtime.queue import Key
from rca_rollout.runtime.suites import SuiteReconciler
from rca_rollout.runtime.watch_error import WatchError

pytestmark = pytest.mark.emulated


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


async def _read(port: str, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize("verb", ["list", "watch"])
@pytest.mark.parametrize("plural", ["jobs", "rcacomponents"])
async def test_a_watch_that_is_refused_for_good_ends_the_process(lab: Lab, verb: str, plural: str) -> None:
    """A process that runs on without its eyes would look healthy and do nothing."""
    forbidden = refuse(403, "Forbidden", f"{plural} is forbidden: User cannot {verb} resource")
    lab.server.faults.append(
        Fault(lambda call: (call.verb, call.plural) == (verb, plural), forbidden, times=10_000)
    )
    lab.everything()
    token = lab.start()
    error = await lab.ended(token)
    assert isinstance(error, WatchError | RefusedError)
    assert plural in str(error)
    assert "forbidden" in str(error)


async def test_kinds_that_are_not_installed_end_the_process_with_a_sentence(lab: Lab) -> None:
    """kopf would watch nothing, and say nothing."""
    missing = refuse(404, "NotFound", "the server could not find the requested resource")
    lab.server.faults.append(
        Fault(lambda call: call.plural == "evalruns" and call.verb == "list", missing, times=10_000)
    )
    error = await lab.ended(lab.start())
    assert isinstance(error, MissingKindsError)
    assert "evalruns.rca.bluerobin.io" in str(error)
    assert "crds" in str(error)


async def test_kinds_that_the_server_is_still_learning_of_are_waited_for(lab: Lab) -> None:
    learning = refuse(429, "TooManyRequests", "storage is (re)initializing")
    lab.server.faults.append(
        Fault(lambda call: call.plural == "evalruns" and call.verb == "list", learning, times=5)
    )
    lab.everything()
    token = lab.start()
    await lab.phase("Active")
    assert lab.alive(token)


async def test_a_watch_that_is_refused_for_a_moment_does_not(lab: Lab) -> None:
    forbidden = refuse(403, "Forbidden", "not yet")
    lab.server.faults.append(Fault(lambda call: call.verb == "watch", forbidden, times=6))
    lab.everything()
    token = lab.start()
    await lab.phase("Active")
    assert lab.alive(token)


async def test_a_stop_ends_well_and_at_once(lab: Lab) -> None:
    lab.everything()
    token = lab.start()
    await lab.phase("Active")
    await lab.quiet()
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await lab.stop(token)
    assert loop.time() - begun < 3


async def test_the_probe_is_well_while_work_goes_on_and_ill_when_it_is_stuck(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    # kopf remembers an answer of its probe for ten seconds by the wall clock; here it goes by the loop's.
    dates = SimpleNamespace(now=lambda _: clock.now())
    monkeypatch.setattr(probing, "datetime", SimpleNamespace(datetime=dates, timedelta=timedelta, UTC=UTC))
    stuck, reconcile = False, SuiteReconciler.reconcile

    async def hangs(self: SuiteReconciler, key: Key) -> datetime | None:
        await asyncio.sleep(100_000 if stuck else 0)
        return await reconcile(self, key)

    monkeypatch.setattr(SuiteReconciler, "reconcile", hangs)
    port = _free_port()
    lab.everything()
    lab.start(HEALTH_PORT=port)
    await lab.phase("Active")
    status, text = await _read(port, "/healthz")
    assert (status, "depth" in text) == (200, True)
    stuck = True
    lab.store.edit("evalsuites", "shop", "suite", lambda body: body["spec"].update(maxConcurrentRuns=2))
    states = []
    for _ in range(30):
        await asyncio.sleep(15)
        states.append((await _read(port, "/healthz"))[0])
    # A slow minute or two is no illness; three are.
    assert states[:10] == [200] * 10
    assert states[-10:] == [500] * 10


async def test_the_metrics_tell_of_a_promotion(lab: Lab) -> None:
    port = _free_port()
    lab.everything()
    lab.start(METRICS_PORT=port)
    await lab.phase("Active")
    await lab.quiet()
    status, text = await _read(port, "/metrics")
    assert status == 200, text
    found = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }

    def value(name: str, **labels: str) -> float | None:
        return found.get((name, frozenset({"namespace": "shop", "name": "live", **labels}.items())))

    assert value("rca_component_mode", mode="Active") == 1
    assert value("rca_component_mode", mode="Shadow") == 0
    assert value("rca_component_phase", phase="Active") == 1
    assert value("rca_component_condition", type="Promoted") == 1
    assert (
        value("rca_eval_accuracy_ratio") == value("rca_eval_baseline_ratio") == value("rca_gate_passed") == 1
    )
    assert value("rca_eval_delta_ratio") == 0
    assert value("rca_promotions_total", trigger="Evidence") == 1
    assert value("rca_demotions_total", trigger="GuardFailed") == 0, "a counter begins at 0"
    passed = frozenset({"namespace": "shop", "component": "live", "phase": "Passed"}.items())
    assert found["rca_eval_runs_total", passed] == len(lab.list("evalruns"))
    assert found["rca_queue_working", frozenset()] == 0
    lab.store.delete("rcacomponents", "shop", "live")
    await lab.quiet(5)
    _, text = await _read(port, "/metrics")
    assert '"live"' not in text, "a series goes with its object"


async def test_nothing_blocks_the_loop(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    """asyncio's own watchman: a callback of more than half a second is written to the log."""
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    loop.slow_callback_duration = 0.5
    caplog.set_level(logging.WARNING, "asyncio")
    lab.everything()
    lab.start()
    await lab.phase("Active")
    loop.set_debug(False)
    assert [record.getMessage() for record in caplog.records if "took" in record.getMessage()] == []


async def test_no_line_of_the_log_speaks_of_an_error_on_the_road_to_active(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    """No "Patching failed with inconsistencies", no retries of kopf's, no unexpected exceptions."""
    lab.everything()
    lab.start()
    await lab.phase("Active")
    await lab.quiet()
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [line for line in told if "conflict" not in line.lower()] == []


async def test_many_components_are_all_promoted_within_a_bounded_number_of_requests(lab: Lab) -> None:
    names = [f"c{n}" for n in range(4)]
    for name in names:
        lab.modes(
            {f"{name}.Mode": "Shadow"},
            name=f"modes-{name}",
            annotations={"rca.bluerobin.io/keys": f"{name}.Mode"},
        )
        lab.suite(f"suite-{name}")
        target = {"configMapRef": {"name": f"modes-{name}"}, "key": f"{name}.Mode"}
        lab.component(name, suiteRef={"name": f"suite-{name}"}, target=target)
    lab.data()
    lab.start()
    for name in names:
        await lab.phase("Active", name, within=600)
    runs = len(lab.list("evalruns"))
    requests = sum(call.verb not in ("list", "watch") for call in lab.server.calls)
    assert requests < 150 * runs
    assert len(lab.key_writes()) == len(names)
