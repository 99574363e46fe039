"""The components of the reference engine that stand behind a mode key, in the order in which the pipeline applies them."""

from collections.abc import Mapping

LIVE_ACTIVATION = "RcaLiveActivation.Mode"
EVIDENCE_CAP = "RcaEvidenceCap.Mode"
MEMORY = "RcaMemory.Mode"
HYPOTHESES = "RcaHypotheses.Mode"
KEYS = (LIVE_ACTIVATION, EVIDENCE_CAP, MEMORY, HYPOTHESES)
ACTIVE, SHADOW = "Active", "Shadow"


def is_active(modes: Mapping[str, str], key: str) -> bool:
    """Only the exact word Active is active: missing, misspelt and unknown values are Shadow. Other keys are
    not ours.
    """
    return modes.get(key) == ACTIVE


def active_keys(modes: Mapping[str, str]) -> frozenset[str]:
    """Which of our components govern under these modes."""
    return frozenset(key for key in KEYS if is_active(modes, key))
