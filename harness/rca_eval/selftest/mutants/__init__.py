"""All named mutants, group by group. A name is never used for another mutant again."""

from rca_eval.selftest.mutant import Mutant
from rca_eval.selftest.mutants import (
    answers,
    arithmetic,
    baro,
    cap,
    change,
    graph,
    hypotheses,
    keys,
    memory,
    modes,
    order,
    tables,
    terms,
    verification,
    weights,
    windows,
)

ALL: tuple[Mutant, ...] = (
    *weights.MUTANTS,
    *terms.MUTANTS,
    *tables.MUTANTS,
    *windows.MUTANTS,
    *order.MUTANTS,
    *keys.MUTANTS,
    *arithmetic.MUTANTS,
    *graph.MUTANTS,
    *change.MUTANTS,
    *baro.MUTANTS,
    *memory.MUTANTS,
    *memory.SHARED,
    *cap.MUTANTS,
    *verification.MUTANTS,
    *verification.GATE,
    *hypotheses.MUTANTS,
    *hypotheses.LOWERED,
    *modes.MUTANTS,
    *answers.MUTANTS,
)
