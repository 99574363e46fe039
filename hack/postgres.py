"""A real PostgreSQL for tests: made in a temporary folder, reached by a socket in it, gone at the end.

The binaries are those of Debian's package `postgresql` (or any on PATH). PostgreSQL refuses to run as root, so root
starts it as `postgres`, or as `nobody` where that user does not exist.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INSTALL = "install it, on Debian and Ubuntu with `apt-get install postgresql`"
START_SECONDS = 60
USER = "rca"
# Nothing in it outlives the tests.
SETTINGS = (
    "listen_addresses=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=60",
)


class PostgresError(Exception):
    """PostgreSQL is not there or does not start; the text says what to do."""


def binaries() -> Path | None:
    """The folder with `initdb` and `postgres`: Debian's newest, else that of PATH."""

    def number(folder: Path) -> float:
        try:
            return float(folder.parent.name)
        except ValueError:
            return 0.0

    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=number, reverse=True)
    on_path = shutil.which("initdb")
    found += [Path(on_path).resolve().parent] if on_path else []
    return next((one for one in found if (one / "initdb").exists() and (one / "postgres").exists()), None)


@contextmanager
def running() -> Iterator[str]:
    """The address of a fresh server's database, for SQLAlchemy with psycopg. Raises `PostgresError`."""
    folder = binaries()
    if folder is None:
        raise PostgresError(f"PostgreSQL is not installed; {INSTALL}.")
    user = _user()
    # Not $TMPDIR: a socket's path may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="rca-pg-", dir="/tmp", ignore_cleanup_errors=True) as scratch:
        if user is not None:
            os.chown(scratch, user, pwd.getpwuid(user).pw_gid)
        data = f"{scratch}/data"
        _initialise(folder, data, user)
        command = [str(folder / "postgres"), "-D", data, "-k", scratch]
        command += [part for setting in SETTINGS for part in ("-c", setting)]
        with Path(scratch, "log").open("wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=scratch, user=user
            )
        try:
            _wait(process, folder, Path(scratch))
            yield f"postgresql+psycopg://{USER}@/postgres?host={scratch}"
        finally:
            process.send_signal(signal.SIGINT)  # fast shutdown: no session is waited for
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _user() -> int | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise PostgresError("PostgreSQL does not run as root, and there is neither a user postgres nor nobody.")


def _initialise(folder: Path, data: str, user: int | None) -> None:
    command = [
        str(folder / "initdb"),
        "-D",
        data,
        "-U",
        USER,
        "--auth=trust",
        "--no-sync",
        "-E",
        "UTF8",
        "--locale=C",
    ]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", user=user, check=False
    )
    if done.returncode != 0:
        raise PostgresError(f"initdb failed: {done.stderr.strip() or done.stdout.strip()}")


def _wait(process: subprocess.Popen[bytes], folder: Path, scratch: Path) -> None:
    ends = time.monotonic() + START_SECONDS
    ready = folder / "pg_isready"
    while time.monotonic() < ends:
        if process.poll() is not None:
            break
        asked = [str(ready), "-q", "-h", str(scratch), "-U", USER, "-d", "postgres"]
        if (scratch / ".s.PGSQL.5432").exists() and (
            not ready.exists() or subprocess.run(asked, check=False, stdin=subprocess.DEVNULL).returncode == 0
        ):
            return
        time.sleep(0.05)
    text = (scratch / "log").read_text(encoding="utf-8", errors="replace")[-2000:]
    raise PostgresError(f"PostgreSQL did not start: {text}")
