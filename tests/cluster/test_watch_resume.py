"""Watches that end, and are older than the server's memory, while many objects change: nothing that was said is missed.

What is deleted while nobody watches is another thing (`test_resync.py`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from rca_testing.api_world import ApiWorld, api_world
from rca_testing.cluster import Cluster
from rca_testing.machine import Machine
from rca_testing.node import Api, component, modes
from rca_testing.supervisor import Supervisor
from rca_testing.troubles import ALWAYS, some, watching
from rca_testing.wire_faults import Rule, Spoilt, expired

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

COUNT, CHANGES = 30, 150


def _behind(world: ApiWorld) -> list[str]:
    """Components whose newest spec the operator has not spoken about."""
    return [
        body["metadata"]["name"]
        for body in world.place.list("RcaComponent")
        if (body.get("status") or {}).get("observedGeneration") != body["metadata"]["generation"]
    ]


@pytest.mark.parametrize("share", [0.0, 0.5], ids=["closed", "closed and expired"])
def test_no_change_is_missed_while_watches_come_and_go(
    cluster: Cluster,
    machine: Machine,
    namespace: str,
    tmp_path: Path,
    share: float,
    figure: Callable[[str], None],
) -> None:
    with (
        closing(Api(cluster.kubeconfig, cluster.kubectl_binary.parent)) as api,
        api_world(api, namespace, machine, tmp_path) as world,
    ):
        supervisor = Supervisor(world)
        world.wire.rules += [
            Rule(some(share, watching), Spoilt(3, expired()), ALWAYS),
            Rule(watching, Spoilt(5, b""), ALWAYS),
        ]
        for number in range(COUNT):
            # Without a suite: each is looked at, and says so, and nothing runs.
            name = f"c{number}"
            world.place.create(modes(name, Mode="Shadow"))
            world.place.create(component(name, suite="missing", target=name, key="Mode"))
        supervisor.until(lambda world: not _behind(world))
        chance = random.Random(3)
        for number in range(CHANGES):
            name = f"c{chance.randrange(COUNT)}"
            world.place.spec("RcaComponent", name, revision=f"r{number}")
            if number % 20 == 0:
                world.wire.break_all()
        begun = time.monotonic()
        supervisor.until(lambda world: not _behind(world))
        opened = [sent for sent in world.wire.sent if sent.verb == "watch"]
        figure(
            f"{CHANGES} changes of {COUNT} objects over {len(opened)} watches: all heard of "
            f"{time.monotonic() - begun:.1f} s after the last"
        )
        assert len(opened) > 20, "the watches did come and go"
        assert supervisor.exits == []
