"""Series given by statistics become samples that have exactly these statistics. Deterministic; no random
number in it.
"""

from decimal import Decimal
from fractions import Fraction

from rca_eval.contract import ContractError, Reason
from rca_eval.contract.groundtruth import Generator
from rca_eval.contract.protocol import EngineSeries
from rca_eval.engine.baro import AFTER_SECONDS, QUIET_SECONDS

PRE_SAMPLES = 29  # 4 * 7 + 1: the quartiles fall on samples, so that no interpolation blurs them
POST_STEP = 60
MAX_Z = Fraction(
    199, 2
)  # beyond it the floor under the IQR (1 % of the range) takes over and z would be smaller
MAX_LAG = AFTER_SECONDS


def expand(generator: Generator, *, onset: int, window: int, where: str) -> EngineSeries:
    """Samples around `onset` (Unix seconds): before it median and IQR as given, after it a step to median + z
    * IQR.

    The step shows in the first sample from `lagSeconds` after the onset on; all series have the same times, which therefore tell
    nothing. Raises `ContractError(DatasetInvalid)` where the statistics
    cannot be had.
    """
    step = (window - QUIET_SECONDS) // PRE_SAMPLES
    if step < 1:
        raise _refused(where, f"a window of {window} s is too short for a generated series; use samples")
    if abs(Fraction(generator.z)) > MAX_Z:
        raise _refused(where, f"z is {generator.z}, but a generated series reaches at most {float(MAX_Z)}")
    if not -QUIET_SECONDS <= generator.lag_seconds <= MAX_LAG:
        raise _refused(
            where, f"lagSeconds is {generator.lag_seconds}, but must be in [-{QUIET_SECONDS}, {MAX_LAG}]"
        )
    half = generator.iqr / 2
    quiet = (generator.median, generator.median - half, generator.median + half)
    loud = generator.median + generator.z * generator.iqr
    begin = onset + generator.lag_seconds
    samples: dict[int, Decimal] = {
        onset - window + at * step: quiet[at % len(quiet)] for at in range(PRE_SAMPLES)
    }
    after = {onset + at for at in range(0, AFTER_SECONDS + 1, POST_STEP)}
    samples |= {at: loud if at >= begin else generator.median for at in after}
    return EngineSeries(metric=generator.metric, samples=tuple(sorted(samples.items())))


def _refused(where: str, text: str) -> ContractError:
    return ContractError(Reason.DATASET_INVALID, f"{where}: {text}.")
