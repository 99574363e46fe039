"""Two measurements of one dataset, side by side: what moved, by how much, and how sure that is. No verdict. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from rca_eval.contract.errors import ContractError, Reason, shown
from rca_eval.contract.metrics import METRIC_NAMES, MetricName
from rca_eval.contract.model import Model
from rca_eval.contract.numbers import Figure, is_finite, nine
from rca_eval.contract.protocol import VariantName
from rca_eval.contract.scorecard import ArmResult, Baseline, DatasetInfo, Scorecard
from rca_eval.gate.beside import ARM_ORDER, arm_statistics, class_counts, margins, movements
from rca_eval.gate.figures import arm_figures
from rca_eval.gate.policy import GatePolicy
from rca_eval.gate.result import ArmStatistics, ClassCount, Margin, Movement

# What a scorecard is about, where nobody says it: the component switched on, else the modes as they are.
PREFERRED: tuple[VariantName, ...] = ("With", "Without", "AllShadow")


@dataclass(frozen=True)
class Side:
    """One of the two: a baseline, or one variant of a scorecard. `mttr` holds seconds by arm, as a figure or None."""

    name: str
    dataset: DatasetInfo
    arms: Mapping[str, ArmResult]
    mttr: Mapping[str, Figure | None]


class MetricDelta(Model):
    """A metric, or `MTTR` in seconds, of one arm on both sides; `delta` is candidate - reference, null where one is not
    known.
    """

    arm: str
    metric: str
    reference: Figure | None
    candidate: Figure | None
    delta: Figure | None


class Comparison(Model):
    """How a candidate differs from a reference on one dataset. In `statistics` and `classes` the reference stands where a
    verdict has the baseline.
    """

    dataset_sha256: str
    reference: str
    candidate: str
    regressed: tuple[Movement, ...]
    fixed: tuple[Movement, ...]
    unchanged: tuple[Movement, ...]
    metrics: tuple[MetricDelta, ...]
    margins: tuple[Margin, ...]
    statistics: tuple[ArmStatistics, ...]
    classes: tuple[ClassCount, ...]

    @property
    def exit_code(self) -> int:
        """1 if an incident is lost, else 0."""
        return 1 if self.regressed else 0


def side(document: Baseline | Scorecard, *, name: str, variant: VariantName | None = None) -> Side:
    """The side that a document stands for; of a scorecard `variant`, else With, Without or AllShadow, the first there is.

    Raises `ContractError(Usage)` if it has no such variant.
    """
    if isinstance(document, Baseline):
        if variant is not None:
            raise ContractError(
                Reason.USAGE, f"{name} is a baseline, which has no variant {variant}; name none."
            )
        times: dict[str, str | None] = {row.arm: row.value for row in document.mttr_seconds}
        return Side(name, document.dataset, {arm.arm: arm for arm in document.arms}, times)
    deterministic = document.deterministic
    present = [one.name for one in deterministic.variants]
    chosen = variant or next((one for one in PREFERRED if one in present), None)
    if chosen is None or chosen not in present:
        there = ", ".join(present) or "none"
        raise ContractError(
            Reason.USAGE, f"{name} has no variant {chosen or 'at all'}; it has {there}: name one of them."
        )
    owner = deterministic.owner_of(chosen)
    arms: dict[str, ArmResult] = {arm.arm: arm for arm in deterministic.arms_of(chosen) or ()}
    mttr: dict[str, str | None] = {
        row.arm: row.value for row in document.measured.mttr_seconds if row.variant == owner
    }
    return Side(f"{name} {chosen}", deterministic.dataset, arms, mttr)


def compare(reference: Side, candidate: Side, *, tolerance: Fraction | None = None) -> Comparison:
    """What moved between two sides of one dataset; `tolerance` says when N is too small, default that of the gate.

    Raises `ContractError(DatasetChanged)` for two datasets, for other incidents of one, and for a side without
    LivePath; `ContractError(ScorecardInvalid)` for a figure that is not finite.
    """
    if reference.dataset.sha256 != candidate.dataset.sha256:
        raise ContractError(
            Reason.DATASET_CHANGED,
            f"{reference.name} is of dataset {reference.dataset.sha256[:12]}, {candidate.name} of "
            f"{candidate.dataset.sha256[:12]}; only measurements of one dataset can be compared.",
        )
    shared = [arm for arm in ARM_ORDER if arm in reference.arms and arm in candidate.arms]
    for one in (reference, candidate):
        if "LivePath" not in one.arms:  # what is left would be the planted answers alone, which nobody loses
            raise ContractError(
                Reason.DATASET_CHANGED,
                f"{one.name} has no arm LivePath, the one that measures; replay incidents that have telemetry.",
            )
    for one in (reference, candidate):
        _refuse_non_finite(one)
    before, now = ({arm: one.arms[arm] for arm in shared} for one in (reference, candidate))
    for arm in shared:
        if [row.id for row in before[arm].incidents] != [row.id for row in now[arm].incidents]:
            raise ContractError(
                Reason.DATASET_CHANGED,
                f"{reference.name} and {candidate.name} hold other incidents in {arm}; replay both with "
                "the same --only.",
            )
    regressed, fixed, unchanged = movements(now, before)
    limit = GatePolicy().tolerance if tolerance is None else tolerance
    return Comparison(
        dataset_sha256=reference.dataset.sha256,
        reference=reference.name,
        candidate=candidate.name,
        regressed=regressed,
        fixed=fixed,
        unchanged=unchanged,
        metrics=tuple(
            row
            for arm in shared
            for row in (*_metrics(before[arm], now[arm]), _mttr(arm, reference, candidate))
        ),
        margins=margins(now.get("LivePath"), before.get("LivePath")),
        statistics=tuple(arm_statistics(now[arm], before[arm], "Baseline", limit) for arm in shared),
        classes=tuple(class_counts(now, before, {})),
    )


def _metrics(before: ArmResult, now: ArmResult) -> list[MetricDelta]:
    old, new = _recomputed(before), _recomputed(now)
    return [_delta(now.arm, name, old.get(name), new.get(name)) for name in METRIC_NAMES]


def _recomputed(arm: ArmResult) -> dict[MetricName, Fraction]:
    """From the rows, never as claimed; nothing for an arm without incidents."""
    return arm.recomputed() if arm.incidents else {}


def _mttr(arm: str, reference: Side, candidate: Side) -> MetricDelta:
    old, new = reference.mttr.get(arm), candidate.mttr.get(arm)
    return _delta(arm, "MTTR", None if old is None else Fraction(old), None if new is None else Fraction(new))


def _delta(arm: str, metric: str, old: Fraction | None, new: Fraction | None) -> MetricDelta:
    return MetricDelta(
        arm=arm,
        metric=metric,
        reference=None if old is None else nine(old),
        candidate=None if new is None else nine(new),
        delta=None if old is None or new is None else nine(new - old),
    )


def _refuse_non_finite(one: Side) -> None:
    found = [pair for arm in one.arms.values() for pair in arm_figures(arm)]
    found += [(f"MTTR of {arm}", value) for arm, value in one.mttr.items() if value is not None]
    for where, figure in found:
        if not is_finite(figure):
            raise ContractError(
                Reason.SCORECARD_INVALID, f"{one.name}: {where} is {shown(figure)}; replay it again."
            )
