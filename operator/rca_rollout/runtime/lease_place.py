"""Where a scope's Lease is, as whom this process stands in it, and the clock by which it believes in it."""

from __future__ import annotations

import hashlib
import secrets
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from rca_rollout.core.lease import Identity
from rca_rollout.runtime.settings import Settings

# Every Pod with a service account finds the name of its namespace there.
_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True)
class LeasePlace:
    """Where the Lease of a scope is, the same for whoever watches that scope.

    In the first of the watched namespaces, wherever the operators themselves are; for the whole cluster, where the
    setting says, else in the operator's own. `templates/_helpers.tpl` has the same names, for the rights.
    """

    namespace: str
    name: str

    @staticmethod
    def of(settings: Settings) -> LeasePlace:
        watched = sorted(set(settings.namespaces))
        if not watched:
            return LeasePlace(settings.lease_namespace or _own_namespace(), "rca-rollout-cluster")
        scope = hashlib.sha256(",".join(watched).encode()).hexdigest()[:8]
        name = "rca-rollout" if len(watched) == 1 else f"rca-rollout-{scope}"
        return LeasePlace(settings.lease_namespace or watched[0], name)


def _own_namespace() -> str:
    return _OWN_NAMESPACE.read_text(encoding="utf-8").strip() if _OWN_NAMESPACE.is_file() else "default"


def identity(settings: Settings) -> Identity:
    """A new one for each process."""
    return Identity(settings.pod_name or socket.gethostname(), settings.pod_uid, secrets.token_hex(4))


def steady() -> float:
    """Monotonic seconds that go on while the machine sleeps, where the system has such a clock (Linux has)."""
    number: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(number)
