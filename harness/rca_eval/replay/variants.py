"""The mode vectors of a local replay, from what a person types."""

from collections.abc import Sequence

from rca_eval.contract import ContractError, Reason, Variant, shown
from rca_eval.engine import LIVE_ACTIVATION

DEFAULT_COMPONENT = LIVE_ACTIVATION
BATCH = "none"
MAX_KEY = 253


def parse_modes(pairs: Sequence[str]) -> dict[str, str]:
    """`["RcaMemory.Mode=Active"]` as a dict. Raises `ContractError(Usage)`."""
    modes: dict[str, str] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key or value not in ("Active", "Shadow"):
            raise ContractError(Reason.USAGE, f"--mode is {shown(pair)}; write KEY=Active or KEY=Shadow.")
        if key in modes:
            raise ContractError(Reason.USAGE, f"--mode names {key} twice; give it one mode.")
        modes[key] = value
    return modes


def variants(component: str, modes: dict[str, str]) -> tuple[Variant, ...]:
    """AllShadow, Without (the given modes, the component in Shadow) and With (the component Active).

    For a batch run, component `none`: AllShadow, and Without with the given modes. Raises
    `ContractError(Usage)`.
    """
    if not component or len(component) > MAX_KEY:
        raise ContractError(
            Reason.USAGE, f"--component is {shown(component)}; name a mode key, or `none` for a batch run."
        )
    if modes.get(component) == "Active":
        raise ContractError(
            Reason.USAGE,
            f"--mode makes {shown(component)} Active everywhere, but it is judged: Shadow in Without, Active in With; "
            "leave it out, or judge another --component.",
        )
    keys = dict.fromkeys([*modes, *([] if component == BATCH else [component])], "Shadow")
    without = {**keys, **modes} if component == BATCH else {**keys, **modes, component: "Shadow"}
    found = [Variant(name="AllShadow", modes=keys), Variant(name="Without", modes=without)]
    if component != BATCH:
        found.append(Variant(name="With", modes={**without, component: "Active"}))
    return tuple(found)
