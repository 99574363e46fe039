"""Killed by SIGKILL at every write that it sends to a real API server, before the write arrives or before its answer
does: a new process goes on to the same end. Same conditions and evidence, one Job for each attempt, one EvalRun for
each planned run, one write of the key for each switch, no Event lost.

Every write of a road is a crash point twice (before, after). By default a world has several deaths, `STRIDE` writes
apart, so that each is recovered from before the next; RCA_TEST_THOROUGH=1 gives each death a world of its own.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from rca_testing.api_world import OBSERVATION, ApiWorld
from rca_testing.consumer import answering, confirmation, consumer_pod
from rca_testing.deaths import Deaths, Road, Step, differences, go
from rca_testing.worlds import Worlds

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds"), pytest.mark.timeout(1500)]

STRIDE = 1000 if os.environ.get("RCA_TEST_THOROUGH") else 9


def _phase(wanted: str) -> Callable[[ApiWorld], object]:
    return lambda world: world.status().get("phase") == wanted


def _regress(world: ApiWorld) -> None:
    world.lost = ("GT-01", "GT-04")
    world.place.spec("RcaComponent", "live", guard={"interval": "1s"})


def _confirmed(world: ApiWorld) -> None:
    port = world.stack.enter_context(answering(world))
    world.place.create(consumer_pod(world))
    world.everything(confirmation=confirmation(port))


def _back_and_confirmed(world: ApiWorld) -> bool:
    status = world.status()
    said = (status.get("confirmation") or {}).get("state")
    return bool(status.get("phase") == "Blocked" and world.mode() == "Shadow" and said == "Confirmed")


def _rolled(world: ApiWorld) -> bool:
    status = world.status()
    return bool(status.get("phase") == "Active" and status["promotion"]["revision"] == "r2")


PROMOTED = Step(ApiWorld.everything, _phase("Active"))
ROADS = (
    Road(
        "a promotion, a regression, a demotion by the guard, both confirmed",
        (Step(_confirmed, _phase("Active")), Step(_regress, _back_and_confirmed)),
    ),
    Road(
        "a new revision: back to Shadow, and to Active again",
        (PROMOTED, Step(lambda world: world.place.spec("RcaComponent", "live", revision="r2"), _rolled)),
        armed=1,
    ),
    Road(
        "mode: Shadow",
        (
            PROMOTED,
            Step(
                # It goes on to be evaluated; every second would be never quiet.
                lambda world: world.place.spec(
                    "RcaComponent", "live", mode="Shadow", observation={**OBSERVATION, "interval": "720h"}
                ),
                lambda world: world.mode() == "Shadow" and "intent" not in world.status(),
            ),
        ),
        armed=1,
    ),
    Road(
        "a deletion with RevertToShadow",
        (
            Step(lambda world: world.everything(deletionPolicy="RevertToShadow"), _phase("Active")),
            Step(
                lambda world: world.place.delete("RcaComponent", "live"),
                lambda world: not world.place.list("RcaComponent"),
            ),
        ),
        armed=1,
    ),
)


NOBODY = 10**9


@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.name)
def test_whoever_dies_where_the_end_is_the_same(
    worlds: Worlds, road: Road, figure: Callable[[str], None]
) -> None:
    nobody = Deaths(NOBODY, 1, late=False)
    expected = worlds.play(lambda world: go(world, road, nobody)).result()
    writes = len(nobody.counted)
    planned = [
        Deaths(first, STRIDE, late=late) for first in range(min(STRIDE, writes)) for late in (False, True)
    ]
    started = [(deaths, worlds.play(partial(go, road=road, deaths=deaths))) for deaths in planned]
    wrong: list[str] = []
    points: Counter[str] = Counter()
    for deaths, future in started:
        where = (
            f"killed {'after' if deaths.late else 'before'} write {deaths.first} (and every {STRIDE} later)"
        )
        try:
            found = future.result()
        except AssertionError as error:
            wrong.append(f"{where}: {error}")
            continue
        points.update(deaths.points)
        wrong += [f"{where}, {deaths.points}: {line}" for line in differences(expected, found)]
    told = ", ".join(f"{what} {count}" for what, count in sorted(points.items()))
    figure(f"killed at {sum(points.values())} writes in {len(planned)} worlds, {road.name}: {told}")
    assert not wrong, "\n".join(wrong)
    assert sum(points.values()) >= 2 * writes - STRIDE
