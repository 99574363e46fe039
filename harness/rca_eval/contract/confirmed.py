"""Only confirmed labels decide: a draft is a guess, and a disputed one is known to be doubtful."""

from rca_eval.contract.errors import ContractError, Reason
from rca_eval.contract.groundtruth import GroundTruth, Incident

_NAMED = 5


def split_confirmed(truth: GroundTruth) -> tuple[tuple[Incident, ...], tuple[str, ...]]:
    """The incidents that may decide, and the ids of those whose label is a draft or disputed.

    Without a label, the author of the file vouches for the cause; `rca-eval lint` warns of it.
    """
    doubtful = tuple(one.id for one in truth.incidents if one.label and one.label.status != "confirmed")
    return tuple(one for one in truth.incidents if one.id not in doubtful), doubtful


def require_confirmed(truth: GroundTruth, *, source: str = "the dataset") -> GroundTruth:
    """The dataset itself, if no label in it is a draft or disputed. Raises `ContractError(DatasetInvalid)`
    that names the incidents.
    """
    _, doubtful = split_confirmed(truth)
    if doubtful:
        raise ContractError(
            Reason.DATASET_INVALID,
            f"{source}: the labels of {len(doubtful)} of {len(truth.incidents)} incidents are draft or disputed "
            f"({named(doubtful)}), and only confirmed labels decide; confirm them in label.status, or move them "
            "to another file.",
        )
    return truth


def named(ids: tuple[str, ...]) -> str:
    """`IN-1, IN-2 and 3 more`."""
    return ", ".join(ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")
