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
    """Two stages: what the first has caught by accuracy need not be asked again.

    First the component that the group is about; for a fault in what all share, the BARO path and the path of the legacy
    tables, which the cap leaves in force. Then the other components, and everything Active. Alone, the keys of the other
    components are absent, so that an engine that takes a missing key for Active shows it; beside, all others are Active.
    """
    first = FIRST_KEY.get(group, KEYS[0])
    soon = {first} if group in FIRST_KEY else {first, EVIDENCE_CAP}
    alone = {
        key: Question(short(key), variants(key, {})) for key in sorted(KEYS, key=lambda key: key != first)
    }
    others = {key: "Active" for key in KEYS if key != first}
    beside = Question(f"{short(first)} beside", variants(first, others))
    rest = tuple(question for key, question in alone.items() if key not in soon)
    words = (_words(),) if group == "modes" else ()
    return tuple(question for key, question in alone.items() if key in soon), (beside, *rest, *words)


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
