"""The rules of `rca-eval lint`, in the order in which their findings are shown. Pure.

A code that begins with E- makes a result meaningless, one with W- makes it weak. docs/datasets.md has each of them with
an example and the cure.
"""

from rca_eval.lint import labels, leaks, references, series, strength, times
from rca_eval.lint.finding import Rule

ANY_WINDOW: tuple[Rule, ...] = (
    references.incomplete,
    references.dangling,
    references.twice,
    references.calls_itself,
    references.unreachable,
    references.many_causes,
    references.symptom_is_not_the_alert,
    references.distractor_is_the_cause,
    references.aliases_clash,
    times.implausible_year,
    series.order_of_times,
    series.odd_units,
    series.says_nothing,
    series.no_telemetry,
    labels.unconfirmed,
    labels.one_family,
    labels.protected,
    labels.baseline_fits,
)
"""These hold whatever the window is."""

WITH_WINDOW: tuple[Rule, ...] = (
    times.onset_and_alert,
    times.alert_too_slow,
    times.changes_contradict,
    times.windows_overlap,
    times.modality_skew,
    times.clock_of_a_service,
    times.odd_onset,
    series.enough_samples,
    series.not_projectable,
    leaks.leaking,
    labels.planted_cause_dominates,
)
"""These are skipped while windowSeconds cannot be read."""

OF_THE_SET: tuple[Rule, ...] = (
    strength.few_incidents,
    strength.one_sided,
    strength.scheduled,
    strength.no_change_trap,
    strength.saturated,
    strength.equal_margins,
    strength.no_rates,
)
"""These speak of the set as a whole, and only once every incident of it could be read."""
