"""Before the watches: are our kinds served, and may we read them?

kopf looks once for what it is to watch. A kind that is not there then is never watched, without a word; so the process
ends instead, and the Pod's restart looks again. A server that is only slow (it has just learnt of the CRDs) is waited for.
"""

from __future__ import annotations

import asyncio
import logging

from rca_rollout.kube.client import Kube
from rca_rollout.kube.errors import NotFoundError, TransientError
from rca_rollout.kube.resources import COMPONENTS, RUNS, SUITES
from rca_rollout.runtime.settings import Settings

log = logging.getLogger("rca_rollout.preflight")

_PATIENCE = 60  # tries, a second apart


class MissingKindsError(RuntimeError):
    """The CRDs are not installed; the message says how to install them."""


async def check_kinds(kube: Kube, settings: Settings, stop: asyncio.Event) -> None:
    """Returns when all kinds can be listed in all namespaces, or when `stop` is set.

    Raises `MissingKindsError` where a kind is not served, `RefusedError` where listing it is not allowed, and
    `TransientError` when the server gives no proper answer for a minute.
    """
    for resource in (COMPONENTS, RUNS, SUITES):
        for namespace in settings.namespaces or (None,):
            for left in reversed(range(_PATIENCE)):
                if stop.is_set():
                    return
                try:
                    await kube.list_uids(resource, namespace)
                    break
                except NotFoundError as problem:
                    raise MissingKindsError(
                        f"the API server does not serve {resource.plural}.{resource.group}: install the CRDs "
                        "(kubectl apply -f crds/, or the chart with crds.enabled=true)"
                    ) from problem
                except TransientError as problem:
                    if not left:
                        raise
                    log.info("waiting for the API server: %s", problem)
                    await asyncio.sleep(1)
