"""Evaluations in one piece and in parts, without an engine: answers that depend on nothing but the case."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from rca_eval.contract import (
    ArmResult,
    Control,
    Engine,
    EngineIncident,
    GroundTruth,
    Prediction,
    Predictions,
    RankedEntity,
    Scorecard,
    Variant,
    aggregate,
    digest,
    dump_exact,
    nine,
    parse_ground_truth,
    sha256,
)
from rca_eval.contract.dealing import WHOLE, Share, deal
from rca_eval.contract.part import ScorecardPart, Shard, ShardArm
from rca_eval.job.parts import part_of
from rca_eval.job.prepare import Case, cases, distinct
from rca_eval.job.scoring import arm_results, ranked_result, score

KEY = "RcaLiveActivation.Mode"
VARIANTS = (
    Variant(name="AllShadow", modes={KEY: "Shadow"}),
    Variant(name="Without", modes={KEY: "Shadow"}),
    Variant(name="With", modes={KEY: "Active"}),
)
CLASSES = ("auth/login", "deploy/config", "data/datastore")


def dataset(size: int, *, dark: int = 0) -> bytes:
    """So many incidents; every `dark`-th of them (0: none) is without telemetry, so it has no LivePath."""
    rows = []
    for at in range(size):
        keys = [f"service-{n}" for n in range(2 + at % 4)]
        row = {
            "id": f"IN-{at:05}",
            "faultClass": CLASSES[at % 3],
            "expectedRootCause": keys[at % len(keys)],
            "changeInduced": at % 7 == 0,
            "label": {"status": "confirmed"},
        }
        if not dark or at % dark:
            row |= {
                "alert": {
                    "name": "Errors",
                    "service": keys[0],
                    "firedAt": 1700000060 + 3600 * at,
                    "forSeconds": 60,
                },
                "topology": {"services": [{"key": key} for key in keys], "calls": [keys[:2]]},
                "telemetry": {
                    "availability": "full",
                    "services": {
                        key: {"criticality": Decimal("0.5"), "errorRate": Decimal(n) / 10}
                        for n, key in enumerate(keys)
                    },
                },
                "changes": [],
            }
        rows.append(row)
    return dump_exact(
        {"schemaVersion": 1, "windowSeconds": 1800, "profile": "user", "incidents": rows}
    ).encode()


def whole(data: bytes, *, repeats: int = 2) -> Scorecard:
    return _scored(parse_ground_truth(data), sha256(data), WHOLE, repeats)


def parts(data: bytes, count: int, *, repeats: int = 2, run: str = "run-1") -> list[ScorecardPart]:
    truth, sha = parse_ground_truth(data), sha256(data)
    shares = [Share(index, count) for index in range(count)]
    return [part_of(_scored(truth, sha, share, repeats), truth, share, run=run) for share in shares]


def _scored(truth: GroundTruth, sha: str, share: Share, repeats: int) -> Scorecard:
    work = cases(truth, sha, share)
    unique = [variant for variant, same in distinct(VARIANTS) if same is None]
    answers = [
        Predictions(
            protocol=1,
            engine=Engine(name="test", version="1"),
            predictions=tuple(
                found for variant in unique for case in work if (found := _answer(variant, case, repeat))
            ),
        )
        for repeat in range(1, repeats + 1)
    ]
    results = {case.case: ranked_result(case, _ranked(case.view, "control", case.case)) for case in work}
    control = Control(name="KnownBad", arms=arm_results(work, results))
    return score(truth, sha, VARIANTS, answers, revision="r1", control=control, share=share)


def _answer(variant: Variant, asked: Case, repeat: int) -> Prediction | None:
    arm, case, view = asked.arm, asked.case, asked.view
    dice = _dice(f"{variant.name}/{case}")
    if dice % 23 == 0:
        return None
    seconds = Decimal(1 + _dice(f"{case}/{repeat}") % 10**7).scaleb(-9)
    if dice % 29 == 0:
        return Prediction(variant=variant.name, arm=arm, case=case, seconds=seconds, error="it broke")
    ranked = _ranked(view, variant.name, case)
    shadowed = _ranked(view, "With", case)
    return Prediction(
        variant=variant.name,
        arm=arm,
        case=case,
        candidates=ranked,
        seconds=seconds,
        would_be={KEY: tuple(one.entity for one in shadowed)} if variant.name != "With" else None,
    )


def _ranked(view: EngineIncident, salt: str, case: str) -> tuple[RankedEntity, ...]:
    keys = sorted(
        (service.key for service in view.topology.services), key=lambda k: _dice(f"{salt}/{case}/{k}")
    )
    scores = (Decimal(900 - 100 * (at // 2)).scaleb(-3) for at in range(len(keys)))  # with ties
    return tuple(RankedEntity(entity=key, score=value) for key, value in zip(keys, scores, strict=True))


def _dice(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])


def cut(card: Scorecard, share: Share, *, run: str) -> ScorecardPart:
    """The part of a whole scorecard that this share would have printed."""
    sha, ids = card.deterministic.dataset.sha256, card.deterministic.dataset.incidents
    ran = next(variant.arms for variant in card.deterministic.variants if variant.same_as is None)
    dealt = deal(sha, ((arm.arm, row.id) for arm in ran for row in arm.incidents), share.count)
    mine = {case for case, index in dealt.items() if index == share.index}

    def some(arms: Iterable[ArmResult]) -> tuple[ArmResult, ...]:
        kept = []
        for arm in arms:
            rows = tuple(row for row in arm.incidents if (arm.arm, row.id) in mine)
            if rows:
                figures = aggregate([(row.order(), row.expected) for row in rows])
                metrics = {name: nine(value) for name, value in figures.items()}
                kept.append(arm.model_copy(update={"incidents": rows, "metrics": metrics}))
        return tuple(kept)

    whole, measured = card.deterministic, card.measured
    held = {incident for _, incident in mine}
    seconds = tuple(row for row in measured.seconds if (row.arm, row.incident) in mine)
    deterministic = whole.model_copy(
        update={
            "dataset": whole.dataset.model_copy(update={"incidents": tuple(i for i in ids if i in held)}),
            "variants": tuple(v.model_copy(update={"arms": some(v.arms)}) for v in whole.variants),
            "control": whole.control and whole.control.model_copy(update={"arms": some(whole.control.arms)}),
        }
    )
    repeats = range(measured.repeats.count)
    totals = (sum((Fraction(row.values[at] or 0) for row in seconds), Fraction(0)) for at in repeats)
    return ScorecardPart(
        provenance=card.provenance,
        shard=Shard(
            index=share.index,
            count=share.count,
            run=run,
            incidents=len(ids),
            incidents_sha256=digest(list(ids)),
            arms=tuple(
                ShardArm(
                    arm=arm.arm,
                    total=len(arm.incidents),
                    places=tuple(at for at, name in enumerate(ids) if (arm.arm, name) in mine),
                )
                for arm in ran
            ),
        ),
        deterministic=deterministic,
        measured=measured.model_copy(
            update={
                "seconds": seconds,
                "would_be": tuple(r for r in measured.would_be if (r.arm, r.incident) in mine),
                "total_seconds": tuple(nine(total) for total in totals),
            }
        ),
    )
