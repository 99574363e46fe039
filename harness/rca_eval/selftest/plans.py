"""What every mutant is asked: each component judged in turn, alone and beside the others, and a run with words that are no mode. Pure."""

from dataclasses import dataclass

from rca_eval.contract import Variant
from rca_eval.engine import EVIDENCE_CAP, HYPOTHESES, KEYS, LIVE_ACTIVATION, MEMORY
from rca_eval.replay.variants import BATCH, variants

# What a consumer may find in a key and must read as Shadow: only the exact word Active is active.
NOT_ACTIVE = ("active", "ACTIVE", "Active ", "true")
FIRST_KEY = {
    "memory": MEMORY,
    "cap": EVIDENCE_CAP,
    "verification": LIVE_ACTIVATION,
    "hypotheses": HYPOTHESES,
}


@dataclass(frozen=True)
class Question:
    """One evaluation: its variants, and whether it judges a component (a batch run does not)."""

    name: str
    variants: tuple[Variant, ...]
    component: bool = True


def questions(group: str = "") -> tuple[tuple[Question, ...], ...]:
    """All of them, in stages: what an early stage has caught by accuracy need not be asked again.

    First the component that the group is about, then everything Active, then the rest. Alone, the keys of the other
    components are absent, so that an engine that takes a missing key for Active shows it; beside, all others are Active.
    """
    first = FIRST_KEY.get(group, KEYS[0])
    alone = {key: Question(short(key), variants(key, {})) for key in KEYS}
    others = {key: "Active" for key in KEYS if key != first}
    beside = Question(f"{short(first)} beside", variants(first, others))
    rest = tuple(alone[key] for key in KEYS if key != first)
    return (alone[first],), (beside,), (*rest, _words())


def _words() -> Question:
    batch = variants(BATCH, dict.fromkeys(KEYS, "Shadow"))
    odd = Variant(name="AllShadow", modes=dict(zip(KEYS, NOT_ACTIVE, strict=True)))
    return Question("words", (odd, *(variant for variant in batch if variant.name == "Without")), False)


def together() -> Question:
    """Everything in Shadow, and everything Active: what the A/A replays ask."""
    return Question("together", variants(BATCH, dict.fromkeys(KEYS, "Active")), False)


def short(key: str) -> str:
    """`RcaMemory.Mode` as `RcaMemory`."""
    return key.removesuffix(".Mode")
