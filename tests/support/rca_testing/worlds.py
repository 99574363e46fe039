"""Several worlds at a time on one API server: most of their time is waiting for its controllers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from rca_testing.api_world import ApiWorld, api_world
from rca_testing.cluster import Cluster, fresh_namespace
from rca_testing.machine import Machine
from rca_testing.node import Api

SIDE_BY_SIDE = int(os.environ.get("RCA_TEST_WORLDS", "10"))


class Worlds:
    """Each world has a namespace of its own, and is gone when what was played in it has ended."""

    def __init__(self, cluster: Cluster, machine: Machine, folder: Path) -> None:
        self._cluster, self._machine, self._folder = cluster, machine, folder
        self._pool = ThreadPoolExecutor(SIDE_BY_SIDE)
        self._number = 0

    def play[T](self, part: Callable[[ApiWorld], T]) -> Future[T]:
        """Soon, in a thread."""
        self._number += 1
        return self._pool.submit(self._play, part, self._folder / str(self._number))

    def _play[T](self, part: Callable[[ApiWorld], T], folder: Path) -> T:
        api = Api(self._cluster.kubeconfig, self._cluster.kubectl_binary.parent)
        with (
            closing(api),
            fresh_namespace(self._cluster) as name,
            api_world(api, name, self._machine, folder) as world,
        ):
            return part(world)

    @contextmanager
    def running(self) -> Iterator[Worlds]:
        try:
            yield self
        finally:
            self._pool.shutdown(cancel_futures=True)
