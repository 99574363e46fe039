"""The detected onset: steps at known times, noise without one, gaps, flat and short series, and its bounds."""

import math
import random
from decimal import Decimal
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rca_eval.contract import parse_ground_truth, sha256
from rca_eval.contract.protocol import (
    EngineAlert,
    EngineIncident,
    EngineSeries,
    EngineTelemetry,
    EngineTelemetryRow,
    EngineTopology,
)
from rca_eval.data import ground_truth_bytes
from rca_eval.engine import changepoint
from rca_eval.engine.onset import detected_onset
from rca_eval.job.prepare import cases

FIRED, W = 1700001800, 1800
TIMES = range(FIRED - W, FIRED + 601, 60)


def noise(seed, times=TIMES, *, step=None, height=0.0, unit=1.0):
    """Normal noise of deviation 1 around 100, with a step of `height` from the time `step` on."""
    source = random.Random(seed)
    return tuple(
        (at, Decimal(repr(unit * (100 + source.gauss(0, 1) + (height if step and at >= step else 0)))))
        for at in times
    )


def incident(*series):
    rows = {
        f"s{at:03}": EngineTelemetryRow(series=(EngineSeries.model_construct(metric="m", samples=samples),))
        for at, samples in enumerate(series)
    }
    return EngineIncident(
        case="case-00000000",
        window_seconds=W,
        alert=EngineAlert(name="a", service="s000", fired_at=FIRED),
        topology=EngineTopology(services=(), calls=()),
        telemetry=EngineTelemetry.model_construct(availability="full", services=rows),
        changes=(),
    )


@pytest.mark.parametrize("at", [3, 5, 10, 15, 20, 25, 29, 30, 31])
@pytest.mark.parametrize("height", [8, -8])
def test_a_step_is_found_at_the_first_sample_that_shows_it(at, height):
    step = TIMES[at]
    assert detected_onset(incident(*(noise(seed, step=step, height=height) for seed in range(3)))) == step


def test_a_change_after_the_alert_did_not_raise_it():
    assert detected_onset(incident(noise(1, step=TIMES[32], height=20))) is None
    both = [(at, value + (9 if TIMES[26] <= at < TIMES[34] else 0)) for at, value in noise(2)]
    assert detected_onset(incident(tuple(both))) == TIMES[26]


def test_of_two_like_changes_the_one_next_to_the_alert_is_the_onset():
    bumps = [*range(5, 11), *range(26, 34)]
    both = [(at, value + (9 if n in bumps else 0)) for n, (at, value) in enumerate(noise(2))]
    assert detected_onset(incident(tuple(both))) == TIMES[26]


def test_one_series_is_enough():
    assert detected_onset(incident(noise(1, step=TIMES[20], height=10))) == TIMES[20]


def test_one_changed_series_among_many_quiet_ones_is_found():
    quiet = [noise(seed) for seed in range(60)]
    assert detected_onset(incident(*quiet, noise(99, step=TIMES[25], height=10))) == TIMES[25]


def test_noise_alone_is_no_onset():
    found = [detected_onset(incident(*(noise(seed * 10 + n) for n in range(5)))) for seed in range(40)]
    assert sum(one is not None for one in found) <= 1


@pytest.mark.parametrize("where", [0, 1, 20, -2, -1])
def test_one_loud_sample_is_no_onset(where):
    spiked = [(at, value + 30 if at == TIMES[where] else value) for at, value in noise(3)]
    assert detected_onset(incident(tuple(spiked))) is None


@pytest.mark.parametrize(
    "samples",
    [
        (),
        tuple((at, None) for at in TIMES),
        tuple((at, Decimal(5)) for at in TIMES),
        noise(1, TIMES[:7], step=TIMES[4], height=50),
        tuple((FIRED - 10, Decimal(n)) for n in range(20)),
        noise(1, [FIRED - W - 60 * n for n in range(1, 40)], step=FIRED - W - 600, height=50),
        noise(1, [FIRED + 601 + 60 * n for n in range(40)], step=FIRED + 1200, height=50),
    ],
    ids=["empty", "only gaps", "flat", "short", "one moment", "too early", "too late"],
)
def test_series_that_say_nothing_give_no_onset_and_take_none_away(samples):
    assert detected_onset(incident(samples)) is None
    assert detected_onset(incident(samples, noise(1, step=TIMES[20], height=10))) == TIMES[20]


def test_no_series_at_all_is_no_onset():
    assert detected_onset(incident()) is None


@settings(max_examples=25)
@given(st.sets(st.integers(0, len(TIMES) - 1), max_size=12))
def test_gaps_do_not_move_the_onset(missing):
    whole, gappy = noise(5, step=TIMES[24], height=9), noise(6, step=TIMES[24], height=9)
    gappy = tuple((at, None if n in missing else value) for n, (at, value) in enumerate(gappy))
    assert detected_onset(incident(whole, gappy)) == TIMES[24]


@settings(max_examples=25)
@given(st.randoms(use_true_random=False), st.sampled_from([1e-6, 1.0, 1e6]))
def test_unit_order_of_samples_and_order_of_services_say_nothing(shuffler, unit):
    many = [noise(seed, step=TIMES[18] if seed < 3 else None, height=7, unit=unit) for seed in range(6)]
    turned = [tuple(shuffler.sample(samples, len(samples))) for samples in many]
    whole = incident(*turned)
    services = list(whole.telemetry.services.items())
    shuffler.shuffle(services)
    telemetry = whole.telemetry.model_copy(update={"services": dict(services)})
    assert detected_onset(whole.model_copy(update={"telemetry": telemetry})) == TIMES[18]


def test_series_of_different_steps_share_one_grid():
    fine = noise(1, range(FIRED - W, FIRED + 601, 15), step=FIRED - 285, height=8)
    coarse = noise(2, range(FIRED - W + 7, FIRED + 601, 60), step=FIRED - 285, height=8)
    assert detected_onset(incident(fine, coarse)) == FIRED - 285


def test_of_a_small_and_a_large_change_the_large_one_is_the_onset():
    both = tuple(
        (at, value + (2 if at >= TIMES[10] else 0) + (30 if at >= TIMES[25] else 0)) for at, value in noise(8)
    )
    assert detected_onset(incident(both)) == TIMES[25]


def test_rows_and_columns_are_bounded_whatever_the_incident_holds(monkeypatch):
    seen = []
    original = changepoint._changes

    def watched(segments):
        seen.append(segments.count.shape)
        return original(segments)

    monkeypatch.setattr(changepoint, "_changes", watched)
    times = range(FIRED - W, FIRED + 601)
    many = [noise(seed, times, step=FIRED - 200, height=6) for seed in range(25)]
    found = detected_onset(incident(*many))
    rows, columns = seen[0]
    assert rows <= changepoint.MAX_ROWS + 1
    assert columns == changepoint.MAX_COLUMNS
    assert abs(found - (FIRED - 200)) <= 11  # one row of the grid: 2401 s over 240 rows


def test_the_evidence_for_a_segment_is_the_product_of_the_student_predictives():
    """The online form, sample by sample, with the textbook's update of the four parameters."""
    values = [0.3, -1.2, 2.5, 0.1, 8.0]
    mean, kappa, alpha, beta = 0.0, changepoint.KAPPA, changepoint.ALPHA, changepoint.BETA
    total = 0.0
    for x in values:
        scale, df = beta * (kappa + 1) / (alpha * kappa), 2 * alpha
        total += math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi * scale) / 2
        total -= (df + 1) / 2 * math.log1p((x - mean) ** 2 / (df * scale))
        beta += kappa * (x - mean) ** 2 / (2 * (kappa + 1))
        mean, kappa, alpha = (kappa * mean + x) / (kappa + 1), kappa + 1, alpha + 0.5
    found = changepoint._Segments.of(np.array(values).reshape(-1, 1)).evidence(0, len(values))
    assert found[0] == pytest.approx(total, rel=1e-12)


@settings(max_examples=30)
@given(st.lists(st.integers(-40, 40), min_size=6, max_size=11))
def test_the_set_of_changes_is_the_most_probable_of_all_sets(levels):
    segments = changepoint._Segments.of(np.array(levels, dtype=float).reshape(-1, 1) / 4)
    rows = len(levels)

    def score(cuts):
        parts = pairwise((0, *cuts, rows))
        evidence = sum(segments.evidence(a, b)[0] for a, b in parts)
        return evidence - len(cuts) * math.log(changepoint.LAMBDA - 1)

    possible = [
        cuts
        for size in range(rows // 3)
        for cuts in combinations(range(3, rows - 2), size)
        if all(b - a >= 3 for a, b in pairwise((0, *cuts, rows)))
    ]
    best = max(possible, key=score)
    assert score(tuple(change.at for change in changepoint._changes(segments))) == pytest.approx(score(best))


# In seed all metrics step up at once; in graded they move up to minutes apart, some before the onset, with gaps.
@pytest.mark.parametrize(("profile", "earliest", "latest"), [("graded", -120, 120), ("seed", 0, 60)])
def test_the_bundled_incidents_change_within_samples_of_their_onset(profile, earliest, latest):
    data = ground_truth_bytes(profile)
    for case in cases(parse_ground_truth(data), sha256(data)):
        if case.arm == "LivePath" and any(row.series for row in case.view.telemetry.services.values()):
            assert earliest <= detected_onset(case.view) - case.view.alert.onset <= latest
