"""What goes wrong with a document, said once and for a person.

Every reader of the contract raises `ContractError` and nothing else: a stable `reason` for machines
(conditions, termination messages, tests) and a `message` that is one sentence: which file, which field, what
was found, what to do about it.
"""

from enum import StrEnum


class Reason(StrEnum):
    """Why a document could not be used. The values are part of the contract: they appear in conditions and
    JSON output.
    """

    DATASET_INVALID = "DatasetInvalid"
    DATASET_CHANGED = "DatasetChanged"
    MANIFEST_INVALID = "ManifestInvalid"
    INCIDENT_INVALID = "IncidentInvalid"
    PREDICTIONS_MISSING = "PredictionsMissing"
    PREDICTIONS_INVALID = "PredictionsInvalid"
    PREDICTIONS_TOO_LARGE = "PredictionsTooLarge"
    SCORECARD_MISSING = "ScorecardMissing"
    SCORECARD_TRUNCATED = "ScorecardTruncated"
    SCORECARD_TOO_LARGE = "ScorecardTooLarge"
    SCORECARD_INVALID = "ScorecardInvalid"
    DIGEST_MISMATCH = "DigestMismatch"
    SHARD_MISSING = "ShardMissing"
    SHARD_MISMATCH = "ShardMismatch"
    BASELINE_INVALID = "BaselineInvalid"
    POLICY_INVALID = "PolicyInvalid"
    ENVIRONMENT_INVALID = "EnvironmentInvalid"
    FILE_UNREADABLE = "FileUnreadable"
    ENGINE_FAILED = "EngineFailed"
    STORE_UNAVAILABLE = "StoreUnavailable"
    STORE_KEY_REFUSED = "StoreKeyRefused"
    SELFTEST_INVALID = "SelftestInvalid"
    DATABASE_UNAVAILABLE = "DatabaseUnavailable"
    LIFECYCLE_REFUSED = "LifecycleRefused"
    AGENT_UNAVAILABLE = "AgentUnavailable"
    JUDGEMENT_INVALID = "JudgementInvalid"
    JUDGE_UNAVAILABLE = "JudgeUnavailable"
    USAGE = "Usage"


MESSAGE_LIMIT = 600


class ContractError(Exception):
    """A document, file or setting that cannot be used; never a regression and never a pass."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason = reason
        # Input is quoted in messages; a termination message has room for so much.
        self.message = one_line(message)[:MESSAGE_LIMIT]
        super().__init__(self.message)


def one_line(text: str) -> str:
    """Text of others made safe to show: one line, and no character that a terminal would obey."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))


def shown(value: object, limit: int = 60) -> str:
    """A short quotation of a bad value for a message, e.g. `"abc"`, `12`, `an object`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return '"' + (value if len(value) <= limit else value[: limit - 1] + "…") + '"'
        case dict():
            return "an object"
        case list() | tuple():
            return f"a list of {len(value)}"
        case _:
            text = str(value)
            return text if len(text) <= limit else text[: limit - 1] + "…"
