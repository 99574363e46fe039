"""Wrong weights: the five tables of `engine.blend`."""

from rca_eval.selftest.mutant import Mutant


def _m(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "weights", "engine/blend.py", old, new, imitates, equivalent, needs)


FLOOR = 'topo="0.50", tele="0.35", hist="0.15"'
ONSET = 'topo="0.40", tele="0.30", hist="0.15", chg="0.15"'
BARO = 'topo="0.35", tele="0.25", hist="0.15", chg="0.15", baro="0.10"'
BARO_NO_CHANGE = 'topo="7/17", tele="5/17", hist="3/17", baro="2/17"'

MUTANTS = (
    _m(
        "floor-topology-heavy",
        FLOOR,
        'topo="0.70", tele="0.15", hist="0.15"',
        "the floor believes topology far more than errors",
    ),
    _m(
        "floor-topology-five-points-up",
        FLOOR,
        'topo="0.55", tele="0.30", hist="0.15"',
        "five points move from errors to topology",
    ),
    _m(
        "floor-two-points-up",
        FLOOR,
        'topo="0.52", tele="0.33", hist="0.15"',
        "a retuned floor, two points from errors to topology",
    ),
    _m(
        "floor-topology-stretched",
        FLOOR,
        'topo="0.56", tele="0.35", hist="0.15"',
        "one weight is raised and the sum forgotten",
    ),
    _m(
        "floor-errors-shrunk",
        FLOOR,
        'topo="0.50", tele="0.2835", hist="0.15"',
        "one weight is lowered and the sum forgotten",
    ),
    _m("floor-weights-swapped", FLOOR, 'topo="0.35", tele="0.50", hist="0.15"', "two weights change places"),
    _m(
        "floor-topology-only", FLOOR, 'topo="0.85", tele="0", hist="0.15"', "errors are left out of the floor"
    ),
    _m("floor-errors-only", FLOOR, 'topo="0", tele="0.85", hist="0.15"', "topology is left out of the floor"),
    _m(
        "floor-from-onset-table",
        FLOOR,
        'topo="8/17", tele="6/17", hist="3/17"',
        "the floor is taken for the onset table divided by its sum",
    ),
    _m(
        "floor-two-terms",
        FLOOR,
        'topo="10/17", tele="7/17", hist="0"',
        "absent history is divided out of the floor",
    ),
    _m(
        "onset-change-gone",
        ONSET,
        'topo="0.40", tele="0.30", hist="0.15", chg="0"',
        "a change counts nothing",
    ),
    _m(
        "onset-change-halved",
        ONSET,
        'topo="0.40", tele="0.30", hist="0.15", chg="0.075"',
        "a change counts half",
    ),
    _m(
        "onset-change-tripled",
        ONSET,
        'topo="0.40", tele="0.30", hist="0.15", chg="0.45"',
        "a change counts three times as much: whoever was deployed is guilty",
    ),
    _m(
        "onset-change-tenth",
        ONSET,
        'topo="0.40", tele="0.30", hist="0.15", chg="0.015"',
        "a decimal place too far: .015 for .15",
    ),
    _m(
        "onset-change-from-errors",
        ONSET,
        'topo="0.40", tele="0.15", hist="0.15", chg="0.30"',
        "errors and change take each other's weight",
    ),
    _m(
        "onset-topology-heavy",
        ONSET,
        'topo="0.60", tele="0.10", hist="0.15", chg="0.15"',
        "the onset table believes topology far more than errors",
    ),
    _m(
        "baro-term-gone",
        BARO,
        'topo="0.35", tele="0.25", hist="0.15", chg="0.15", baro="0"',
        "the BARO term counts nothing beside a change",
    ),
    _m(
        "baro-term-fivefold",
        BARO,
        'topo="0.35", tele="0.25", hist="0.15", chg="0.15", baro="0.50"',
        "the loudest metric decides beside a change",
    ),
    _m(
        "baro-change-gone",
        BARO,
        'topo="0.35", tele="0.25", hist="0.15", chg="0", baro="0.10"',
        "the change term is lost in the five-term table only",
    ),
    _m(
        "baro-no-change-term-gone",
        BARO_NO_CHANGE,
        'topo="7/17", tele="5/17", hist="3/17", baro="0"',
        "the BARO term counts nothing where nothing changed",
    ),
    _m(
        "baro-no-change-term-fivefold",
        BARO_NO_CHANGE,
        'topo="7/17", tele="5/17", hist="3/17", baro="10/17"',
        "the loudest metric decides where nothing changed",
    ),
    _m(
        "baro-no-change-topology-heavy",
        BARO_NO_CHANGE,
        'topo="11/17", tele="1/17", hist="3/17", baro="2/17"',
        "topology outweighs errors where nothing changed",
    ),
    _m(
        "baro-no-change-not-normalised",
        BARO_NO_CHANGE,
        'topo="0.35", tele="0.25", hist="0.15", baro="0.10"',
        "the four-term table is not divided by its sum",
    ),
    _m(
        "baro-no-change-rounded",
        BARO_NO_CHANGE,
        'topo="0.41", tele="0.29", hist="0.18", baro="0.12"',
        "the seventeenths are written with two digits",
    ),
)
