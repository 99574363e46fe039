"""Check 0: may this scorecard decide anything at all? A chain of small functions; each names one reason, or
is content.

No data is never a pass: what is missing, empty, partial, stale or not finite ends here as Inconclusive (the
measurement stands, but does not allow a decision) or Error (the measurement itself is broken).
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from rca_eval.contract.numbers import display, exact, is_finite, nine
from rca_eval.contract.scorecard import IncidentResult
from rca_eval.gate.figures import all_arms, figures
from rca_eval.gate.result import CheckResult, clipped
from rca_eval.gate.subject import Subject, changed_modes

Rule = Callable[[Subject], str | None]

# Container times have a resolution of one second.
WALL_SLACK_SECONDS = 1


def no_baseline(s: Subject) -> str | None:
    if s.baseline is None:
        return (
            "there is no baseline to compare with; write one from an AllShadow run with `rca-eval "
            "baseline write`"
        )
    return None


def dataset_mismatch(s: Subject) -> str | None:
    mine, expected = s.scorecard.deterministic.dataset.sha256, s.context.dataset_sha256
    if expected is not None and mine != expected:
        return f"the run measured dataset {mine[:12]}, but {expected[:12]} is the one in use; run it again"
    if s.baseline is not None and s.baseline.dataset.sha256 != mine:
        return (
            f"the baseline is of dataset {s.baseline.dataset.sha256[:12]}, the run of {mine[:12]}; "
            "write the baseline again"
        )
    return None


def incident_set_mismatch(s: Subject) -> str | None:
    dataset = s.scorecard.deterministic.dataset
    if s.baseline is not None and s.baseline.dataset.incidents != dataset.incidents:
        return (
            f"the baseline has {len(s.baseline.dataset.incidents)} incidents, the run "
            f"{len(dataset.incidents)}, or in another order"
        )
    for arm, reference in s.baseline_arms.items():
        for variant in s.needed_variants:
            mine = s.arms(variant).get(arm)
            if mine is not None and list(map(_labels, mine.incidents)) != list(
                map(_labels, reference.incidents)
            ):
                return (
                    f"the incidents or labels of {variant}/{arm} are not those of the baseline; measure "
                    "both on one dataset"
                )
    for arm_result in all_arms(s):
        ids = [result.id for result in arm_result.incidents]
        if len(set(ids)) != len(ids) or not set(ids) <= set(dataset.incidents):
            return (
                f"{arm_result.arm} holds an incident twice or one that the dataset does not have; score "
                "it again"
            )
    return None


def too_few_incidents(s: Subject) -> str | None:
    live = s.arms(s.candidate_name).get("LivePath")
    if live is not None and len(live.incidents) < s.policy.min_incidents:
        return f"{len(live.incidents)} incidents in LivePath < {s.policy.min_incidents} needed; add incidents"
    return None


def too_few_fault_classes(s: Subject) -> str | None:
    live = s.arms(s.candidate_name).get("LivePath")
    classes = {result.fault_class for result in live.incidents} if live else set()
    if live is not None and len(classes) < s.policy.min_fault_classes:
        return (
            f"{len(classes)} fault classes < {s.policy.min_fault_classes} needed; add incidents of "
            "other classes"
        )
    return None


def protected_unknown(s: Subject) -> str | None:
    known = set(s.scorecard.deterministic.dataset.incidents)
    unknown = [name for name in s.policy.protected_incidents or () if name not in known]
    if unknown:
        return f"protectedIncidents names {unknown[0]}, which the dataset does not have"
    return _unguarded(s)


def _unguarded(s: Subject) -> str | None:
    """Without telemetry an incident is in ScorerOnly alone, which holds its answer: there it cannot be lost."""
    arms = s.arms(s.candidate_name)
    if "LivePath" not in arms:
        return None
    measured = {result.id for result in arms["LivePath"].incidents}
    wanted = s.policy.protected_incidents
    if wanted is None:
        wanted = tuple(result.id for arm in arms.values() for result in arm.incidents if result.protected)
    absent = [name for name in wanted if name not in measured]
    if not absent:
        return None
    return f"{absent[0]} is protected, but not in LivePath, so nothing guards it; give it telemetry, or protect others"


def variant_missing(s: Subject) -> str | None:
    """A variant counts as there only if it ran under the modes that its name promises."""
    modes = {variant.name: variant.modes for variant in s.scorecard.deterministic.variants}
    for name in s.needed_variants:
        if name not in modes:
            return f"the scorecard has no variant {name}; run all of {', '.join(s.needed_variants)}"
    active = sorted(key for key, value in modes["AllShadow"].items() if value == "Active")
    if active:
        return f"AllShadow ran with {active[0]} Active, so it does not show what Shadow does; run it again"
    return _not_switched_on(modes["Without"], modes["With"]) if s.context.component else None


def _not_switched_on(without: dict[str, str], with_: dict[str, str]) -> str | None:
    changed = changed_modes(without, with_)
    if not changed:
        return "With ran under the modes of Without, so the component was never switched on; run it again"
    if len(changed) > 1:
        return f"With differs from Without in {len(changed)} modes, so it shows no single component; run it again"
    if with_.get(changed[0]) != "Active":
        return f"With ran with {changed[0]} {with_.get(changed[0], 'unset')}, not Active; run it again"
    return None


def arm_missing(s: Subject) -> str | None:
    if s.baseline is not None and "LivePath" not in s.baseline_arms:
        return "the baseline has no arm LivePath, the one that measures; write it again from a whole run"
    for variant in s.needed_variants:
        if s.scorecard.deterministic.arms_of(variant) is None:
            continue
        mine = set(s.arms(variant))
        wanted = set(s.baseline_arms) | {"LivePath"}
        if mine != wanted and (s.baseline is not None or not mine >= wanted):
            absent = sorted(wanted - mine) or sorted(mine - wanted)
            where = f"variant {variant}" if wanted - mine else "the baseline"
            return f"{where} has no arm {absent[0]}; run both arms"
    return None


def repeats_differ(s: Subject) -> str | None:
    repeats = s.scorecard.measured.repeats
    if repeats.count < s.policy.min_repeats:
        return (
            f"{repeats.count} repeats < {s.policy.min_repeats} needed; a single run cannot show that "
            "the engine is deterministic"
        )
    if not repeats.identical or repeats.differences:
        where = f": {repeats.differences[0]}" if repeats.differences else ""
        return f"{repeats.count} repeats of the same inputs differ{where}"
    return None


def aggregate_mismatch(s: Subject) -> str | None:
    if non_finite(s) is not None:
        return None
    for arm in all_arms(s):
        for result in arm.incidents:
            if result.rank != s.ranks.rank(result):
                return (
                    f"{arm.arm}/{result.id} claims rank {result.rank}, its candidates give "
                    f"{s.ranks.rank(result)}"
                )
        if not arm.incidents:
            continue
        for name, value in s.ranks.recomputed(arm).items():
            if arm.metrics.get(name) != nine(value):
                return f"{arm.arm} claims {name} {arm.metrics.get(name)}, its rows give {nine(value)}"
    repeats = s.scorecard.measured.repeats
    for times in s.scorecard.measured.seconds:
        if len(times.values) != repeats.count:
            return f"{times.incident} has {len(times.values)} times for {repeats.count} repeats"
    for row in s.scorecard.measured.mttr_seconds:
        found = s.seconds(row.variant, row.arm)
        given = None if found is None else nine(found)
        if row.value != given:
            return (
                f"MTTR of {row.variant}/{row.arm} is given as {row.value or 'none'}, its rows give "
                f"{given or 'none'}"
            )
    return None


def non_finite(s: Subject) -> str | None:
    if "NonFinite" not in s.found:
        bad = next(((where, figure) for where, figure in figures(s) if not is_finite(figure)), None)
        s.found["NonFinite"] = bad and f"{bad[0]} is {bad[1]}; a figure must be a finite number"
    return s.found["NonFinite"]


def revision_mismatch(s: Subject) -> str | None:
    mine, wanted = s.scorecard.deterministic.revision, s.context.revision
    if wanted is not None and mine != wanted:
        return (
            f"the run measured revision {mine[:63] or '(none)'}, but {wanted[:63]} is to be judged; run "
            "it again"
        )
    return None


def implausible_times(s: Subject) -> str | None:
    if non_finite(s) is not None:
        return None
    for row in s.scorecard.measured.seconds:
        if any(value is not None and exact(value) < 0 for value in row.values):
            return f"{row.variant}/{row.arm}/{row.incident} took a negative time"
    unmeasured = _unmeasured(s)
    if unmeasured is not None:
        return unmeasured
    for repeat, wall in enumerate(s.context.wall_seconds or ()):
        total = sum(
            (exact(v) for row in s.scorecard.measured.seconds if (v := _at(row.values, repeat)) is not None),
            Fraction(0),
        )
        if total > wall + WALL_SLACK_SECONDS:
            return (
                f"repeat {repeat + 1} claims {display(total)} s, its container ran "
                f"{display(Fraction(wall))} s"
            )
    return None


def _unmeasured(s: Subject) -> str | None:
    """Nothing is ranked within half a nanosecond: times that are all exactly zero were not measured, or were rounded away.
    One zero among others can be a coarse clock's, and what was not ranked need not have taken any time.
    """
    count = s.scorecard.measured.repeats.count
    for variant in s.scorecard.deterministic.variants:
        for arm in variant.arms:
            ranked = {row.id for row in arm.incidents if row.status == "Ranked"}
            rows = [
                row.values
                for row in s.scorecard.measured.seconds
                if (row.variant, row.arm) == (variant.name, arm.arm) and row.incident in ranked
            ]
            for repeat in range(count):
                times = [exact(value) for values in rows if (value := _at(values, repeat)) is not None]
                if times and not any(times):
                    return (
                        f"all times of {variant.name}/{arm.arm} in repeat {repeat + 1} are exactly zero; let the "
                        "engine report the seconds of each answer, with microseconds at least"
                    )
    return None


def gate_insensitive(s: Subject) -> str | None:
    """The positive control: a ranker known to be bad must fail check 1, else a pass of this gate says
    nothing.
    """
    if not s.policy.require_known_bad or s.baseline is None or non_finite(s) is not None:
        return None
    control = s.scorecard.deterministic.control
    if control is None:
        return "the known-bad control was not run, so nothing shows that this dataset can catch a regression"
    mine, live = {arm.arm: arm for arm in control.arms}.get("LivePath"), s.baseline_arms.get("LivePath")
    if live is None or not live.incidents:
        return None
    if mine is None or [r.id for r in mine.incidents] != [r.id for r in live.incidents]:
        return "the known-bad control was not run over the same incidents"
    reached, needed = s.ranks.accuracy(mine), s.ranks.accuracy(live) - s.policy.tolerance
    if reached >= needed:
        return (
            f"the known-bad control was not caught: its AC@1 {display(reached)} >= "
            f"{display(s.ranks.accuracy(live))} - {s.policy.accuracy_drop}; the dataset needs harder incidents"
        )
    return None


def self_reported(s: Subject) -> str | None:
    if s.scorecard.provenance == "SelfReported" and not s.policy.allow_self_reported:
        return (
            "the scorecard was not written by the scorecard container; it can be shown, but it cannot decide"
        )
    return None


Kind = Literal["Inconclusive", "Error"]
RULES: tuple[tuple[str, Kind, Rule], ...] = (
    ("NoBaseline", "Inconclusive", no_baseline),
    ("DatasetMismatch", "Inconclusive", dataset_mismatch),
    ("IncidentSetMismatch", "Inconclusive", incident_set_mismatch),
    ("TooFewIncidents", "Inconclusive", too_few_incidents),
    ("TooFewFaultClasses", "Inconclusive", too_few_fault_classes),
    ("ProtectedUnknown", "Inconclusive", protected_unknown),
    ("VariantMissing", "Error", variant_missing),
    ("ArmMissing", "Error", arm_missing),
    ("RepeatsDiffer", "Inconclusive", repeats_differ),
    ("AggregateMismatch", "Error", aggregate_mismatch),
    ("NonFinite", "Error", non_finite),
    ("RevisionMismatch", "Error", revision_mismatch),
    ("ImplausibleTimes", "Error", implausible_times),
    ("GateInsensitive", "Inconclusive", gate_insensitive),
    ("SelfReported", "Inconclusive", self_reported),
)


def validity(s: Subject) -> list[CheckResult]:
    """Every reason that speaks against this scorecard, in the order of the table; one Passed row if there is
    none.
    """
    found = [
        CheckResult(name="Validity", result=kind, reason=reason, message=clipped(f"{reason}: {text}"))
        for reason, kind, rule in RULES
        if (text := rule(s)) is not None
    ]
    return found or [CheckResult(name="Validity", result="Passed", message="the scorecard may decide")]


def _labels(result: IncidentResult) -> tuple[object, ...]:
    return (result.id, result.fault_class, result.change_induced, result.protected, result.expected)


def _at(values: tuple[str | None, ...], index: int) -> str | None:
    return values[index] if index < len(values) else None
