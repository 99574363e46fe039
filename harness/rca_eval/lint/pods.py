"""Names of Pods, by the alphabet from which Kubernetes makes their ends."""

import re
from collections.abc import Iterable

# No vowels and nothing that looks like another: k8s.io/apimachinery, util/rand.
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
_END = re.compile(
    rf"(?:[0-9a-f]{{3,10}}|{_RANDOM}{{8,10}}|[0-9]{{1,3}})(?:-(?:{_RANDOM}{{5}}|[0-9]{{1,3}}))?|{_RANDOM}{{5}}"
)


def workload(name: str, services: Iterable[str]) -> str | None:
    """The service whose Pod or ReplicaSet `name` looks like, e.g. `web` for `web-7d9f`, `web-0` and
    `web-5f6585d649-fnmft`.
    """
    fitting = [key for key in services if name.startswith(f"{key}-") and _END.fullmatch(name[len(key) + 1 :])]
    return max(fitting, key=len, default=None)
