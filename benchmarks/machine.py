"""What the figures were measured on; a figure without it is an anecdote."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "pydantic", "redis", "falkordb", "falkordblite", "fse-baro", "scikit-learn")
OPENBLAS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Settings that a machine may carry for other programs, and that would make numpy slower or faster than it is."""


def describe() -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load": load(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def load() -> list[float]:
    """Runnable processes over the last 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def resident_kib() -> int:
    """Memory of this process now. Raises `OSError` where there is no /proc."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise OSError("/proc/self/status names no VmRSS")


def one_core() -> None:
    """This process and all that it starts from now on share one core."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
