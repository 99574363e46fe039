"""The one exception a person is meant to read."""

from __future__ import annotations


class ClusterError(Exception):
    """Something a person has to know or mend; printed as one sentence, never as a traceback."""
