"""Every cell of the published score table of both profiles, computed by the engine on a real graph."""

from fractions import Fraction

import pytest

from rca_eval.contract import display, parse_ground_truth, sha256
from rca_eval.data import ground_truth_bytes
from rca_eval.engine import KNOWN_BAD, Blend, gather, parse_blend, parse_without, rank
from rca_eval.graph import graph_key
from rca_eval.job.prepare import cases

NO_CHANGE_TERM = parse_without("chg")
TOPOLOGY_70 = parse_blend("topo=.70,tele=.15,hist=.15")

# incident: (table, cause, best rival, margin) in Shadow, and the same in Active
GRADED = {
    "GT-01": (("floor", ".7650", ".7550", "+.0100"), ("baroNoChange", ".7529", ".7206", "+.0324")),
    "GT-02": (("floor", ".7650", ".7200", "+.0450"), ("floor", ".7650", ".7200", "+.0450")),
    "GT-03": (("onset", ".7800", ".6650", "+.1150"), ("baro", ".7809", ".6700", "+.1109")),
    "GT-04": (("floor", ".7650", ".7620", "+.0030"), ("baroNoChange", ".7529", ".7265", "+.0265")),
    "GT-05": (("floor", ".7650", ".7595", "+.0055"), ("baroNoChange", ".7529", ".7253", "+.0276")),
    "GT-06": (("floor", ".7650", ".7550", "+.0100"), ("baroNoChange", ".7529", ".7206", "+.0324")),
    "GT-07": (("onset", ".7800", ".6650", "+.1150"), ("baro", ".7809", ".6700", "+.1109")),
    "GT-08": (("floor", ".7650", ".7480", "+.0170"), ("baroNoChange", ".7529", ".7147", "+.0382")),
    "GT-09": (("floor", ".7650", ".7595", "+.0055"), ("baroNoChange", ".7529", ".7253", "+.0276")),
}
SEED_PLAIN = (("floor", ".7650", ".6675", "+.0975"), ("baroNoChange", ".7529", ".6000", "+.1529"))
SEED_CHANGE = (("onset", ".7800", ".5450", "+.2350"), ("baro", ".7900", ".5100", "+.2800"))
SEED = {f"GT-0{n}": SEED_CHANGE if n in (3, 7) else SEED_PLAIN for n in range(1, 10)}
TOPOLOGY_70_MARGINS = {
    "GT-01": "-.0200",
    "GT-02": "-.0050",
    "GT-03": "-.0425",
    "GT-04": "-.0230",
    "GT-05": "-.0125",
    "GT-06": "-.0200",
    "GT-07": "-.0425",
    "GT-08": "-.0170",
    "GT-09": "+.0025",
}


def four(value: Fraction) -> str:
    return display(value, 4).replace("0.", ".", 1)


def signed(value: Fraction) -> str:
    return ("+" if value >= 0 else "") + four(value)


@pytest.fixture(scope="module")
def findings(store):
    """Profile and short id to what the investigation gathered from the graph, in the live arm."""
    found = {}
    for profile in ("seed", "graded"):
        data = ground_truth_bytes(profile)
        for case in cases(parse_ground_truth(data), sha256(data)):
            if case.arm == "LivePath":
                with store.incident(graph_key("table", case.arm), case.view) as graph:
                    found[profile, case.incident.id[:5]] = (case.incident, gather(case.view, graph))
    return found


def row(found, blend, *, active):
    incident, findings = found
    ranking = rank(findings, blend, use_baro=active)
    scores = {one.key: one.score for one in ranking.candidates}
    cause = scores.pop(incident.expected_root_cause[0])
    rival = max(scores.values())
    return ranking.table.name, four(cause), four(rival), signed(cause - rival)


@pytest.mark.parametrize("active", [False, True], ids=["shadow", "active"])
@pytest.mark.parametrize(
    ("profile", "name"), [(p, f"GT-0{n}") for p in ("seed", "graded") for n in range(1, 10)]
)
def test_cause_rival_margin_and_table_are_those_of_the_published_table(findings, profile, name, active):
    expected = (SEED if profile == "seed" else GRADED)[name][active]
    assert row(findings[profile, name], Blend(), active=active) == expected


@pytest.mark.parametrize("name", GRADED)
@pytest.mark.parametrize("active", [False, True], ids=["shadow", "active"])
def test_without_the_change_term_exactly_the_two_change_induced_incidents_are_lost(findings, name, active):
    *_, margin = row(findings["graded", name], NO_CHANGE_TERM, active=active)
    if name in ("GT-03", "GT-07"):
        assert margin == ("-.0460" if active else "-.0425")
    else:
        assert margin == GRADED[name][active][3]


@pytest.mark.parametrize("name", SEED)
def test_on_the_seed_profile_the_change_term_bears_no_load(findings, name):
    assert row(findings["seed", name], NO_CHANGE_TERM, active=False)[3] == "+.0975"
    assert row(findings["seed", name], NO_CHANGE_TERM, active=True)[3] == "+.1529"


@pytest.mark.parametrize("name", TOPOLOGY_70_MARGINS)
def test_a_blend_of_seventy_to_fifteen_keeps_one_graded_incident_and_all_of_seed(findings, name):
    assert row(findings["graded", name], TOPOLOGY_70, active=False)[3] == TOPOLOGY_70_MARGINS[name]
    assert row(findings["seed", name], TOPOLOGY_70, active=False)[3] == "+.0175"


@pytest.mark.parametrize(
    ("profile", "name"), [(p, f"GT-0{n}") for p in ("seed", "graded") for n in range(1, 10)]
)
def test_the_known_bad_blend_loses_every_incident_of_both_profiles(findings, profile, name):
    assert row(findings[profile, name], KNOWN_BAD, active=False)[3].startswith("-")
