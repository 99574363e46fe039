"""What is said when a watch cannot go on: kopf's own errors are tracebacks, and their classes are private."""

from __future__ import annotations

from urllib.parse import urlsplit


class WatchError(RuntimeError):
    """The watch cannot go on, and with it the process: what it knows would grow old. The message is for people."""


def watch_error(error: BaseException) -> WatchError:
    """A sentence for what kopf's watch died of, with the resource in it where it is known."""
    status, cause = getattr(error, "status", None), error.__cause__
    url = getattr(getattr(cause, "request_info", None), "url", None)
    where = f" of {urlsplit(str(url)).path}" if url else ""
    if status is not None:
        said = getattr(error, "message", None) or str(error)
        return WatchError(f"the watch{where} failed: the API server answered {status}: {said[:300]}")
    if isinstance(error, ValueError):
        return WatchError(f"the watch failed: what came was no JSON, so something in between speaks: {error}")
    return WatchError(f"the watch failed: {type(error).__name__}: {str(error)[:300]}")
