"""The verification gate: no conclusion without hard evidence. A finite-state machine outside any model.

    Start -> Blind                      there is no telemetry
    Start -> Checking(1)                else (Unverified if there is no candidate)
    Checking(i) -> Checking(i + 1)      a contradiction, or no hard evidence
    Checking(i) -> Verified(i)          no contradiction, and at least one kind of hard evidence
    Checking(i) -> Unverified           where i + 1 would exceed K = 3 or the candidates, or after 30 checks
It ends in at most K + 2 states, Start included, whatever is observed. Only the names in `evidence.HARD` can
verify; whatever else an observation claims is soft, and counts for nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rca_eval.engine.evidence import CONTRADICTIONS, HARD, Evidence

DEPTH = 3
MAX_CHECKS = 30

Name = Literal["Start", "Checking", "Verified", "Unverified", "Blind"]
TERMINAL: frozenset[Name] = frozenset({"Verified", "Unverified", "Blind"})


@dataclass(frozen=True)
class State:
    """`place` is the candidate's, from 1, in Checking and Verified; `checks` are those made so far."""

    name: Name = "Start"
    place: int = 0
    checks: int = 0

    @property
    def ended(self) -> bool:
        return self.name in TERMINAL


@dataclass(frozen=True)
class Seen:
    """What was observed in a state. Start looks at `blind` and `candidates`, Checking at the rest."""

    blind: bool = False
    candidates: int = 0
    contradicted: bool = False
    kinds: frozenset[str] = frozenset()
    checks: int = 0


def transition(state: State, seen: Seen) -> State:
    """The next state. Pure and total; a terminal state stays."""
    if state.ended:
        return state
    checks = state.checks + seen.checks
    if state.name == "Start":
        if seen.blind:
            return State("Blind", checks=checks)
        return _checking(1, seen, checks)
    if not seen.contradicted and seen.kinds & frozenset(HARD):
        return State("Verified", state.place, checks)
    return _checking(state.place + 1, seen, checks)


def _checking(place: int, seen: Seen, checks: int) -> State:
    if place > min(DEPTH, seen.candidates) or checks >= MAX_CHECKS:
        return State("Unverified", checks=checks)
    return State("Checking", place, checks)


@dataclass(frozen=True)
class Verification:
    """How it ended: every state in order, and for Verified the service, its kinds of evidence and their ids."""

    states: tuple[State, ...]
    service: str | None = None
    kinds: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()

    @property
    def name(self) -> Name:
        return self.states[-1].name

    @property
    def sentence(self) -> str:
        """For people, without the name of a service: in ScorerOnly names are not what they are."""
        end = self.states[-1]
        match end.name:
            case "Verified":
                return f"Verified at place {end.place} by {', '.join(self.kinds)}"
            case "Blind":
                return "Blind: no telemetry, so the legacy ranking stands"
            case _:
                looked = sum(state.name == "Checking" for state in self.states)
                return f"Unverified: no hard evidence for the first {looked}, so the legacy ranking stands"


def verify(keys: Sequence[str], evidence: Evidence) -> Verification:
    """Run the machine over a ranking, best first. It gathers only the evidence that the states ask for."""
    states = [State()]
    kinds: tuple[str, ...] = ()
    while not states[-1].ended:
        state = states[-1]
        if state.name == "Start":
            seen = Seen(blind=evidence.blind, candidates=len(keys))
        else:
            seen = _examine(keys[state.place - 1], evidence, len(keys), MAX_CHECKS - state.checks)
            kinds = tuple(sorted(seen.kinds))
        states.append(transition(state, seen))
    if states[-1].name != "Verified":
        return Verification(tuple(states))
    service = keys[states[-1].place - 1]
    ids = tuple(id_ for kind in HARD if kind in kinds for id_ in evidence.hard(service, kind))
    return Verification(tuple(states), service, kinds, ids)


def _examine(service: str, evidence: Evidence, candidates: int, budget: int) -> Seen:
    """Contradictions first, the first one ends it; then all kinds of hard evidence. One check each."""
    checks = 0
    for against in CONTRADICTIONS[:budget]:
        checks += 1
        if evidence.contradicts(service, against):
            return Seen(candidates=candidates, contradicted=True, checks=checks)
    asked = HARD[: budget - checks]
    kinds = frozenset(kind for kind in asked if evidence.hard(service, kind))
    return Seen(candidates=candidates, kinds=kinds, checks=checks + len(asked))
