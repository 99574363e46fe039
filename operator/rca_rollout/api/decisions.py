"""What people decided about a component, and what keeps it from being promoted: verbs, approval, block, attempts.

Copied from annotations in the first write after they were seen. What follows from them is derived from here: an annotation
may be gone a moment later.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Model
from rca_rollout.api.values import Clip, Digest, Message, ReasonName, Timestamp

Name = Annotated[str, Field(max_length=253)]
Token = Annotated[str, Clip(256)]
Person = Annotated[str, Clip(256)]
Words = Annotated[str, Clip(1024)]

TOKENS_REMEMBERED = 50
FAILURES_REMEMBERED = 10


class VerbResult(StrEnum):
    """Whether a verb had its way."""

    ACCEPTED = "Accepted"
    REFUSED = "Refused"


class HandledVerb(Model):
    """The last token of one verb, and what was made of it."""

    token: Token
    """The annotation's value: `<epoch>/<unique>`. The same value is handled once."""
    at: Timestamp
    by: Person | None = None
    """Who says to have written it (annotation `rca.bluerobin.io/by`), and the field manager that did."""
    reason: Words | None = None
    """The annotation `rca.bluerobin.io/reason` as it stood beside it."""
    result: VerbResult
    message: Message
    run: Name | None = None
    """The run that an abort ended."""


class Verbs(Model):
    """What people asked for by annotation."""

    approve: HandledVerb | None = None
    retry: HandledVerb | None = None
    abort: HandledVerb | None = None
    run: HandledVerb | None = None
    demote: HandledVerb | None = None
    handled: Annotated[
        tuple[Annotated[str, Field(max_length=32)], ...], Field(max_length=TOKENS_REMEMBERED)
    ] = ()
    """Digests of the newest tokens: one that comes back (from Git, from a backup) is not handled again."""


class Block(Model):
    """Why this epoch is not promoted until a retry, whatever its runs say."""

    reason: ReasonName
    message: Message
    at: Timestamp
    epoch: Digest | None = None
    """The epoch that is blocked. In another one this says nothing."""
    by: Person | None = None
    run: Name | None = None
    """The run that showed it, or that was ended by it."""


class PastFailure(Model):
    """What a retry went on from. It stays on record, whatever passes later."""

    reason: ReasonName
    message: Message
    at: Timestamp
    """When it was retried."""
    by: Person | None = None
    retry_reason: Words | None = None
    """What was said for trying again."""
    epoch: Digest | None = None
    run: Name | None = None
    scorecard_sha256: Digest | None = None


class Approval(Model):
    """All evidence is there, and a person is asked. It is about one epoch, one context and one scorecard."""

    requested_at: Timestamp
    epoch: Digest | None = None
    context: Digest | None = None
    run: Name | None = None
    """The closing run."""
    scorecard_sha256: Digest | None = None
    """Digest of the closing run's scorecard: what is approved."""
    approved_at: Timestamp | None = None
    by: Person | None = None
