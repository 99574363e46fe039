"""What will never come is not waited for, and what will never end keeps nobody from his turn."""

import asyncio

import pytest
from rca_testing.emulator.lab import NAMESPACE, Lab
from rca_testing.emulator.server import Fault, refuse

pytestmark = pytest.mark.emulated


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("get", "rcacomponents/live"),
        ("get", "configmaps/modes"),
        ("replace", "rcacomponents/live/status"),
    ],
)
async def test_an_error_of_the_server_comes_back_to_the_queue(lab: Lab, verb: str, path: str) -> None:
    """A client that asks again by itself would keep a worker in one request, with what it read long ago."""
    failing = refuse(503, "ServiceUnavailable", "etcd is busy")
    lab.server.faults.append(
        Fault(lambda call: (call.verb, call.path) == (verb, path), failing, times=100_000)
    )
    lab.everything()
    lab.start()
    await asyncio.sleep(120)
    looks = [call for call in lab.server.calls if (call.verb, call.path) == ("get", "rcacomponents/live")]
    failed = [call for call in lab.server.calls if call.status == 503 and call.path == path]
    assert len(failed) > 3
    assert len(looks) >= len(failed)
    lab.server.faults.clear()
    await lab.phase("Active", within=900)


async def test_a_log_that_cannot_be_reached_is_given_up_and_measured_again(lab: Lab) -> None:
    """The node of a finished Pod is gone: the kubelet's log answers with 500 for as long as the Pod is kept."""
    unreachable = refuse(500, "InternalError", "Get https://10.0.0.7:10250/containerLogs: i/o timeout")
    lab.server.faults.append(Fault(lambda call: call.subresource == "log", unreachable, times=100_000))
    lab.everything()
    lab.start()
    condition = await lab.reason("Promoted", "LogUnavailable", within=3600)
    assert "i/o timeout" in condition["message"]
    lab.server.faults.clear()
    await lab.phase("Active", within=3600)


@pytest.mark.parametrize("readable", [True, False])
async def test_a_run_that_never_ends_does_not_keep_the_others_from_their_turn(
    lab: Lab, readable: bool
) -> None:
    """Its deletion waits for somebody else's finalizer, or it was stored under another version of the schema."""
    spec = {"suiteRef": {"name": "suite"}, "trigger": "Manual"}
    metadata = {"creationTimestamp": "2026-11-29T08:00:00Z"}
    stuck = lab.create("evalruns", "a-stuck-one", metadata=metadata, spec=spec)
    if readable:
        stuck["metadata"] |= {
            "deletionTimestamp": "2026-11-30T08:00:00Z",
            "finalizers": ["example.com/hold"],
        }
    else:
        stuck["spec"]["sortOf"] = "quick"
    lab.store.objects["evalruns", NAMESPACE, "a-stuck-one"] = stuck
    lab.everything()
    lab.start()
    await lab.phase("Active", within=900)
    assert not (lab.get("evalruns", "a-stuck-one").get("status") or {}).get("jobRef")
