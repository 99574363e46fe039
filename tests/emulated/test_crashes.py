"""Killed at any write, before it arrives or before its answer does: a new process goes on to the same end.

By default one operator after the other dies at its first write, until there is none left, and single deaths are tried at
every seventh write. RCA_TEST_THOROUGH=1 tries single deaths at every write (a minute or two).
"""

import os

import pytest
from rca_testing.emulator.lab import KEY, Lab
from rca_testing.emulator.server import Call, Fault, wait

pytestmark = pytest.mark.emulated

# Two runs in a second or so: every kind of write occurs, few of them twice.
SHORT = {"period": "0s", "interval": "1s", "minPassingRuns": 2}
WRITES = range(0, 38, 1 if os.environ.get("RCA_TEST_THOROUGH") else 7)


async def _to_the_end(lab: Lab, fault: Fault) -> None:
    """Starts, is killed where the fault says, starts again, and arrives."""
    first = lab.start()
    await lab.until(lambda: fault.hits or lab.status().get("phase") == "Active")
    await lab.kill(first)
    lab.server.faults.clear()
    lab.start()
    await lab.phase("Active")
    await lab.quiet(15)


def _same_end(lab: Lab) -> None:
    assert lab.get("configmaps", "modes")["data"] == {KEY: "Active", "Unrelated.Mode": "Active"}
    assert [call.body[-1]["value"] for call in lab.key_writes()] == ["Active"], "one promotion, one write"
    numbers = [name.rpartition("-")[2] for name in _made(lab, "evalruns")]
    assert sorted(numbers) == [str(n + 1) for n in range(len(numbers))], "one EvalRun for each number"
    assert lab.status()["runsStarted"] == len(numbers)
    for run in lab.list("evalruns"):
        jobs = [job for job in _made(lab, "jobs") if job.startswith(run["metadata"]["name"] + "-")]
        assert len(jobs) == run["status"]["attempts"] == 1, "one Job for each attempt"
        assert run["status"]["phase"] == "Passed"
    names = [event["metadata"]["name"] for event in lab.list("events")]
    assert len(names) == len(set(names))
    ends = [event["involvedObject"]["name"] for event in lab.events("EvalRun")]
    assert sorted(ends) == sorted(run["metadata"]["name"] for run in lab.list("evalruns")), "each end is told"
    told = [event["reason"] for event in lab.events("RcaComponent")]
    assert told.count("Promoted") == told.count("Promoting") == told.count("ObservationStarted") == 1, told


def _made(lab: Lab, plural: str) -> list[str]:
    return [call.body["metadata"]["name"] for call in lab.writes("create", plural)]


@pytest.mark.parametrize("number", WRITES)
async def test_killed_right_after_any_write(lab: Lab, number: int) -> None:
    """The write is carried out, its answer never arrives."""
    lab.everything(observation=SHORT)
    fault = Fault(
        lambda call: call.writes and len(lab.server.writes()) == number + 1, lab.server.kill, late=True
    )
    lab.server.faults.append(fault)
    await _to_the_end(lab, fault)
    _same_end(lab)


@pytest.mark.parametrize(
    ("verb", "plural"),
    [
        ("create", "evalruns"),
        ("create", "jobs"),
        ("create", "configmaps"),
        ("patch", "configmaps"),
    ],
)
async def test_killed_right_before_a_write(lab: Lab, verb: str, plural: str) -> None:
    """Decided on, and never arrived."""
    fault = Fault(lambda call: (call.verb, call.plural) == (verb, plural), lab.server.kill)
    lab.server.faults.append(fault)
    lab.everything(observation=SHORT)
    await _to_the_end(lab, fault)
    assert fault.hits
    _same_end(lab)


async def test_killed_after_every_single_write(lab: Lab) -> None:
    """No process of this operator ever lives to see the answer to its first write, except to Events."""

    def every(call: Call) -> bool:
        return call.writes and call.plural != "events"

    fault = Fault(every, lab.server.kill, late=True, times=1000)
    lab.server.faults.append(fault)
    lab.everything(observation=SHORT)
    for _ in range(60):
        hits = fault.hits
        token = lab.start()
        await lab.until(lambda hits=hits: fault.hits > hits or lab.status().get("phase") == "Active")
        await lab.kill(token)
        if lab.status().get("phase") == "Active":
            break
    lab.server.faults.clear()
    lab.start()
    await lab.quiet(15)
    _same_end(lab)


async def test_a_job_that_ends_while_no_operator_runs_is_judged_afterwards(lab: Lab) -> None:
    lab.on_job = lambda lab, job: None
    lab.everything(observation=SHORT)
    first = lab.start()
    [job] = await lab.until(lambda: lab.list("jobs"))
    await lab.kill(first)
    lab.kubelet.succeed(job)
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    lab.start()
    await lab.phase("Active")
    await lab.quiet(15)
    _same_end(lab)


async def test_a_stop_in_the_middle_finishes_its_write_and_ends_well(lab: Lab) -> None:
    """SIGTERM: the write under way gets its answer, nothing new is begun, and it does not take long."""
    lab.everything(observation=SHORT)
    reached = Fault(lambda call: (call.verb, call.plural) == ("create", "jobs"), wait(2))
    lab.server.faults.append(reached)
    token = lab.start()
    await lab.until(lambda: reached.hits)
    before = len(lab.server.writes())
    await lab.stop(token)
    assert len(lab.list("jobs")) == 1
    assert len(lab.server.writes()) <= before + 1
