"""What is evaluated decides how large its scorecard is, and must not decide how the operator fares."""

import asyncio
import time

import pytest
from rca_testing.emulator.lab import Lab
from rca_testing.emulator.store import Body

from rca_eval.contract import Scorecard, canonical, pack, parse_scorecard

pytestmark = pytest.mark.emulated


def _swollen(card: Scorecard) -> Scorecard:
    """With 300 further candidates for each incident, far behind the others."""
    document = card.model_dump()
    for variant in document["deterministic"]["variants"]:
        for arm in variant["arms"]:
            for incident in arm["incidents"]:
                last = incident["candidates"][-1]
                more = [{**last, "key": f"service-{number}"} for number in range(300)]
                incident["candidates"] = (*incident["candidates"], *more)
    return Scorecard.model_validate(document)


async def test_while_a_large_scorecard_is_judged_the_loop_goes_on(lab: Lab) -> None:
    heavy: list[float] = []

    def succeed(lab: Lab, job: Body) -> None:
        card = _swollen(lab.kubelet.measure(job))
        begun = time.thread_time()
        parse_scorecard(canonical(card), source="here")
        pack(canonical(card))
        heavy.append(time.thread_time() - begun)
        lab.kubelet.succeed(job, card)
        last[0] = time.thread_time()  # what the test does itself does not count

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.001)
            gaps.append(time.thread_time() - last[0])
            last[0] = time.thread_time()

    lab.on_job = succeed
    lab.everything()
    gaps, last = [0.0], [time.thread_time()]
    lab.start()
    await lab.until(lambda: lab.list("evalruns"))
    ticking = asyncio.create_task(tick())
    await lab.until(lambda: any((run.get("status") or {}).get("checks") for run in lab.list("evalruns")))
    ticking.cancel()
    # In seconds of this thread's processor time, which a busy machine does not stretch. Reading it, storing it and
    # judging it each take about as long as what was measured here.
    assert max(gaps) < min(heavy)
