"""A baseline is believed for a long time: where it comes from, what it must not be made of, how it may change.

Aspects: provenance and the bytes of older files; refusals of `write`; a lawful change with its chain; every reason not
to accept; what is printed, where, and with which exit status.
"""

import json
import os
from pathlib import Path

import pytest

from rca_eval.cli.main import run
from rca_eval.contract import (
    BaselineProvenance,
    ContractError,
    Engine,
    Repeats,
    aggregate,
    canonical,
    nine,
    parse_baseline,
    sha256,
)
from rca_eval.data import PROFILES, baseline_bytes
from rca_eval.replay import from_scorecard, to_text
from rca_eval.replay.accept import propose

PLAIN = Path(__file__).resolve().parents[3] / "examples" / "engines" / "plain" / "baseline.json"
OLD = "b" * 64


def with_shadow(card, change):
    """The scorecard with `change` applied to each row of AllShadow's live arm, and metrics to match."""
    first, *others = card.deterministic.variants
    planted, live = first.arms
    rows = tuple(change(row) for row in live.incidents)
    figures = aggregate([(row.order(), row.expected) for row in rows])
    arm = live.model_copy(
        update={"incidents": rows, "metrics": {name: nine(value) for name, value in figures.items()}}
    )
    variants = (first.model_copy(update={"arms": (planted, arm)}), *others)
    return card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": variants})}
    )


def turned(row):
    """The answer with the trap on top."""
    cause, trap = row.candidates
    top = trap.model_copy(update={"score": cause.score})
    return row.model_copy(
        update={"candidates": (top, cause.model_copy(update={"score": trap.score})), "rank": 2}
    )


def losing(card, *names):
    return with_shadow(card, lambda row: turned(row) if row.id.startswith(names) else row)


def lifted(card, *names, score="0.850000000"):
    """A lawful change: the cause stands where it stood, with another score."""

    def change(row):
        first, *rest = row.candidates
        return row.model_copy(update={"candidates": (first.model_copy(update={"score": score}), *rest)})

    return with_shadow(card, lambda row: change(row) if row.id.startswith(names) else row)


def old_without(make_baseline, make_scorecard, *names):
    """A baseline that misses some incidents itself."""
    return make_baseline(arms=losing(make_scorecard(), *names).deterministic.arms_of("AllShadow"))


def accepted(old, card, **more):
    return propose(old, OLD, card, **{"reason": "because", **more})


def refusals(proposal):
    return [(change.before.id[:5], change.refusal) for change in proposal.refused]


def refused(old, card, **more):
    with pytest.raises(ContractError) as caught:
        accepted(old, card, **more)
    assert "\n" not in caught.value.message
    return caught.value


# Provenance


@pytest.mark.parametrize(
    "data", [*map(baseline_bytes, PROFILES), PLAIN.read_bytes()], ids=[*PROFILES, "plain"]
)
def test_older_files_are_valid_and_come_out_byte_for_byte(data):
    assert to_text(parse_baseline(data)).encode() == data


def test_a_new_baseline_says_where_it_comes_from(make_scorecard):
    card = make_scorecard()
    written = json.loads(to_text(from_scorecard(card, comment="the first")))
    assert written["provenance"] == {
        "createdBy": "rca-eval baseline write",
        "engine": {"name": "test-engine", "version": "1"},
        "evidenceSha256": card.deterministic_sha256(),
        "revision": "r1",
    }
    assert (written["dataset"]["sha256"], written["comment"]) == ("a" * 64, "the first")


def test_a_scorecard_of_no_revision_claims_none(make_scorecard):
    card = make_scorecard()
    bare = card.model_copy(update={"deterministic": card.deterministic.model_copy(update={"revision": ""})})
    assert "revision" not in json.loads(to_text(from_scorecard(bare)))["provenance"]


def test_provenance_survives_its_own_text(make_scorecard, make_baseline):
    new = accepted(make_baseline(), lifted(make_scorecard(), "GT-01")).baseline
    again = parse_baseline(to_text(new).encode())
    assert again == new
    assert canonical(again) == canonical(new)


@pytest.mark.parametrize(
    "field", [{"revision": 1}, {"evidenceSha256": "x"}, {"accepted": [{}]}, {"signedBy": "somebody"}]
)
def test_a_provenance_that_is_none_is_refused(make_baseline, field):
    document = json.loads(to_text(make_baseline()))
    document["provenance"].update(field)
    with pytest.raises(ContractError, match=next(iter(field))):
        parse_baseline(json.dumps(document).encode())


# What must not become a reference


def measured(card, **changes):
    return card.model_copy(update={"measured": card.measured.model_copy(update=changes)})


def deterministic(card, **changes):
    return card.model_copy(update={"deterministic": card.deterministic.model_copy(update=changes)})


def shadow_arm(card, at, **changes):
    first, *others = card.deterministic.variants
    arms = list(first.arms)
    arms[at] = arms[at].model_copy(update=changes)
    return deterministic(card, variants=(first.model_copy(update={"arms": tuple(arms)}), *others))


def first_row(card, **changes):
    row, *rest = card.deterministic.variants[0].arms[1].incidents
    return shadow_arm(card, 1, incidents=(row.model_copy(update=changes), *rest))


def nan(card):
    row = card.deterministic.variants[0].arms[1].incidents[0]
    first, *rest = row.candidates
    return first_row(card, candidates=(first.model_copy(update={"score": "NaN"}), *rest))


BAD = {
    "written by the candidate": (lambda c: c.model_copy(update={"provenance": "SelfReported"}), "it is self-reported"),
    "no AllShadow": (lambda c: deterministic(c, variants=c.deterministic.variants[1:]), "no AllShadow variant"),
    "no live arm": (
        lambda c: deterministic(
            c,
            variants=(
                c.deterministic.variants[0].model_copy(update={"arms": c.deterministic.variants[0].arms[:1]}),
            ),
        ),
        "with a LivePath arm",
    ),
    "one repeat": (lambda c: measured(c, repeats=Repeats(count=1, identical=True)), "two or more identical ones"),
    "repeats that differ": (
        lambda c: measured(c, repeats=Repeats(count=2, identical=False)),
        "two or more identical ones",
    ),
    "no incident": (lambda c: shadow_arm(c, 0, incidents=()), "its arm ScorerOnly holds no incident"),
    "a score that is no number": (nan, "a score of GT-01-login-break is NaN"),
    "a claimed rank": (lambda c: first_row(c, rank=2), "the rank of GT-01-login-break in LivePath does not follow"),
    "a claimed metric": (
        lambda c: shadow_arm(
            c, 1, metrics={**c.deterministic.variants[0].arms[1].metrics, "AC@1": "0.900000000"}
        ),
        "the metrics of LivePath do not follow",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_would_be_a_bad_reference_is_refused_by_both_commands(make_scorecard, make_baseline, name):
    damage, says = BAD[name]
    card = damage(make_scorecard())
    with pytest.raises(ContractError, match=says) as caught:
        from_scorecard(card)
    assert caught.value.reason == "BaselineInvalid"
    assert refused(make_baseline(), card).reason == "BaselineInvalid"


# Accepting


def test_a_change_that_loses_nothing_is_accepted_with_what_it_replaces(make_scorecard, make_baseline):
    card, old = lifted(make_scorecard(), "GT-01", "GT-04"), make_baseline(comment="the first")
    found = accepted(old, card, reason="  the cap moved  ")
    assert found.refused == ()
    assert [change.before.id[:5] for change in found.changes] == ["GT-01", "GT-04"]
    assert (found.unchanged, {change.arm for change in found.changes}) == (16, {"LivePath"})
    provenance = found.baseline.provenance
    assert (provenance.created_by, provenance.revision) == ("rca-eval baseline accept", "r1")
    assert [entry.plain() for entry in provenance.accepted] == [
        {
            "previousSha256": OLD,
            "previousEngine": {"name": "test-engine", "version": "1"},
            "reason": "the cap moved",
        }
    ]
    assert (found.baseline.arms, found.baseline.comment) == (
        card.deterministic.arms_of("AllShadow"),
        "the first",
    )
    assert accepted(old, card, comment="another").baseline.comment == "another"
    assert accepted(old, card, comment="").baseline.comment == ""


def test_the_chain_keeps_every_change_the_oldest_first(make_scorecard, make_baseline):
    first = accepted(make_baseline(), lifted(make_scorecard(), "GT-01"), reason="one").baseline
    engine = Engine(name="test-engine", version="2")
    first = first.model_copy(update={"provenance": first.provenance.model_copy(update={"engine": engine})})
    second = propose(first, "c" * 64, lifted(make_scorecard(), "GT-02"), reason="two").baseline
    assert [(entry.previous_sha256[0], entry.reason, entry.previous_engine.version) for entry in second.provenance.accepted] == [
        ("b", "one", "1"),
        ("c", "two", "2"),
    ]  # fmt: skip


def test_a_lost_incident_is_refused_and_named(make_scorecard, make_baseline):
    found = accepted(make_baseline(), losing(make_scorecard(), "GT-01", "GT-04"))
    assert refusals(found) == [("GT-01", "lost"), ("GT-04", "lost")]


def test_what_is_won_does_not_pay_for_what_is_lost(make_scorecard, make_baseline):
    old = old_without(make_baseline, make_scorecard, "GT-01", "GT-02")
    found = accepted(old, losing(make_scorecard(), "GT-04"))
    assert refusals(found) == [("GT-04", "lost")]
    assert [change.before.id[:5] for change in found.changes] == ["GT-01", "GT-02", "GT-04"]


def test_an_incident_that_both_miss_is_no_loss(make_scorecard, make_baseline):
    old = old_without(make_baseline, make_scorecard, "GT-01")
    found = accepted(old, lifted(losing(make_scorecard(), "GT-01"), "GT-05"))
    assert (found.refused, [change.before.id[:5] for change in found.changes]) == ((), ["GT-05"])


def test_a_protected_incident_must_be_hit_even_if_the_old_baseline_missed_it(make_scorecard, make_baseline):
    old = old_without(make_baseline, make_scorecard, "GT-03", "GT-05")
    card = lifted(losing(make_scorecard(), "GT-03", "GT-05"), "GT-01")
    assert refusals(accepted(old, card)) == [("GT-03", "protected")]  # change-induced
    assert refusals(accepted(old, card, protected=("GT-05-postgres-meshed-reset",))) == [
        ("GT-05", "protected")
    ]
    assert refusals(accepted(old, card, protected=())) == []


def test_an_incident_marked_as_protected_is_one(make_scorecard, make_baseline):
    def mark(row):
        return row.model_copy(update={"protected": row.id.startswith("GT-05")})

    card = with_shadow(losing(make_scorecard(), "GT-05"), mark)
    old = make_baseline(arms=card.deterministic.arms_of("AllShadow"))
    assert refusals(accepted(old, lifted(card, "GT-01"))) == [("GT-05", "protected")]


def test_a_tie_or_an_error_is_a_loss_too(make_scorecard, make_baseline):
    tied = lifted(make_scorecard(), "GT-01", score="0.700000000")
    tied = with_shadow(tied, lambda row: row.model_copy(update={"rank": row.true_rank()}))
    assert refusals(accepted(make_baseline(), tied)) == [("GT-01", "lost")]
    failed = with_shadow(
        make_scorecard(),
        lambda row: (
            row.model_copy(update={"status": "Error", "rank": None}) if row.id.startswith("GT-02") else row
        ),
    )
    assert refusals(accepted(make_baseline(), failed)) == [("GT-02", "lost")]


def test_the_planted_arm_counts_as_well(make_scorecard, make_baseline):
    first, *others = make_scorecard().deterministic.variants
    live = first.arms[1]
    lost = losing(make_scorecard(), "GT-06").deterministic.variants[0].arms[1]
    swapped = first.model_copy(update={"arms": (lost.model_copy(update={"arm": "ScorerOnly"}), live)})
    card = deterministic(make_scorecard(), variants=(swapped, *others))
    found = accepted(make_baseline(), card)
    assert [(change.arm, *pair) for change, pair in zip(found.refused, refusals(found), strict=True)] == [
        ("ScorerOnly", "GT-06", "lost")
    ]


@pytest.mark.parametrize("reason", ["", "   ", "two\nlines", "x" * 1001, "\x1b[31m"])
def test_a_reason_is_one_readable_line(make_scorecard, make_baseline, reason):
    error = refused(make_baseline(), lifted(make_scorecard(), "GT-01"), reason=reason)
    assert error.reason == "Usage"
    assert error.message.startswith("--reason ")


def test_a_reason_may_be_exactly_as_long_as_a_file_can_hold(make_scorecard, make_baseline):
    new = accepted(make_baseline(), lifted(make_scorecard(), "GT-01"), reason="x" * 1000).baseline
    assert parse_baseline(to_text(new).encode()) == new


def test_another_dataset_or_a_part_of_it_is_refused(make_scorecard, make_baseline):
    card, base = lifted(make_scorecard(), "GT-01"), make_baseline()
    other = base.model_copy(update={"dataset": base.dataset.model_copy(update={"sha256": "c" * 64})})
    error = refused(other, card)
    assert error.reason == "DatasetChanged"
    assert "cccccccccccc, the scorecard of aaaaaaaaaaaa" in error.message
    partly = deterministic(
        card,
        variants=tuple(
            v.model_copy(
                update={
                    "arms": tuple(
                        a.model_copy(
                            update={
                                "incidents": a.incidents[:3],
                                "metrics": {
                                    name: nine(value)
                                    for name, value in aggregate(
                                        [(r.order(), r.expected) for r in a.incidents[:3]]
                                    ).items()
                                },
                            }
                        )
                        for a in v.arms
                    )
                }
            )
            for v in card.deterministic.variants
        ),
    )
    for old, mine in ((base, partly), (make_baseline(arms=base.arms[1:]), card)):
        error = refused(old, mine)
        assert error.reason == "DatasetChanged"
        assert "has not the arms, incidents and labels of the old baseline" in error.message


def test_another_label_is_another_dataset(make_scorecard, make_baseline):
    card = with_shadow(
        make_scorecard(), lambda row: row.model_copy(update={"change_induced": not row.change_induced})
    )
    assert refused(make_baseline(), card).reason == "DatasetChanged"


def test_nothing_changed_is_nothing_to_accept(make_scorecard, make_baseline):
    error = refused(make_baseline(), make_scorecard())
    assert (error.reason, "there is nothing to accept" in error.message) == ("Usage", True)


def test_nothing_changed_but_a_protected_incident_is_missed_is_told_as_that(make_scorecard, make_baseline):
    old = old_without(make_baseline, make_scorecard, "GT-03")
    assert refusals(accepted(old, losing(make_scorecard(), "GT-03"))) == [("GT-03", "protected")]


def test_an_unknown_protected_incident_protects_nothing_and_is_named(make_scorecard, make_baseline):
    error = refused(make_baseline(), lifted(make_scorecard(), "GT-01"), protected=("GT-99",))
    assert error.message.startswith("protectedIncidents names GT-99")


def test_a_damaged_old_baseline_is_refused(make_scorecard, make_baseline):
    broken = make_baseline(arms=nan(make_scorecard()).deterministic.arms_of("AllShadow"))
    error = refused(broken, lifted(make_scorecard(), "GT-01"))
    assert (error.reason, "the old baseline is damaged" in error.message) == ("BaselineInvalid", True)


# The command


@pytest.fixture
def files(tmp_path, make_scorecard, make_baseline):
    """OLD and a scorecard on disk."""
    (tmp_path / "old.json").write_text(to_text(make_baseline()))

    def card(value) -> list[str]:
        (tmp_path / "card.json").write_bytes(canonical(value))
        return [str(tmp_path / "old.json"), str(tmp_path / "card.json")]

    return card


def test_accept_writes_the_new_baseline_and_prints_the_difference(files, make_scorecard, tmp_path, capsys):
    output = tmp_path / "new.json"
    names = files(lifted(make_scorecard(), "GT-01", "GT-04"))
    assert run(["baseline", "accept", *names, "--reason", "the cap moved", "-o", str(output)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "LivePath GT-01-login-break: rank 1 -> 1, top cause 0.800000000 -> cause 0.850000000",
        "LivePath GT-04-falkordb-down: rank 1 -> 1, top cause 0.800000000 -> cause 0.850000000",
        "2 changed, 16 unchanged",
    ]
    assert said.err == f"wrote {output}\n"
    written = parse_baseline(output.read_bytes())
    assert written.provenance.accepted[0].previous_sha256 == sha256(Path(names[0]).read_bytes())


def test_without_a_file_the_baseline_alone_goes_to_stdout(files, make_scorecard, capsys):
    names = files(lifted(make_scorecard(), "GT-01"))
    assert run(["baseline", "accept", *names, "--reason", "because", "--comment", "new"]) == 0
    said = capsys.readouterr()
    assert parse_baseline(said.out.encode()).comment == "new"
    assert said.err.splitlines()[-1] == "1 changed, 17 unchanged"


def test_a_loss_ends_with_status_1_names_it_and_writes_nothing(files, make_scorecard, tmp_path, capsys):
    output = tmp_path / "new.json"
    names = files(losing(make_scorecard(), "GT-01", "GT-07"))
    for more in ([], ["-o", str(output)]):
        assert run(["baseline", "accept", *names, "--reason", "because", *more]) == 1
        said = capsys.readouterr()
        assert not output.exists()
        assert "{" not in said.out
        assert (
            "LivePath GT-01-login-break: rank 1 -> 2, top cause 0.800000000 -> trap 0.800000000  lost"
            in said.out + said.err
        )
        assert said.err.splitlines()[-1] == (
            "not accepted: GT-01-login-break, GT-07-bad-commit-web (hit by the old baseline and lost now); "
            "a reference may not lose an incident"
        )


def test_a_protected_incident_of_the_policy_is_named_as_that(
    files, make_scorecard, make_baseline, tmp_path, capsys
):
    names = files(lifted(losing(make_scorecard(), "GT-05"), "GT-01"))
    Path(names[0]).write_text(to_text(old_without(make_baseline, make_scorecard, "GT-05")))
    policy = tmp_path / "policy.json"
    policy.write_text('{"protectedIncidents": ["GT-05-postgres-meshed-reset"]}')
    assert run(["baseline", "accept", *names, "--reason", "because", "--policy", str(policy)]) == 1
    said = capsys.readouterr().err
    assert "not accepted: GT-05-postgres-meshed-reset (protected and missed);" in said
    assert (
        "LivePath GT-05-postgres-meshed-reset: rank 2 -> 2, top trap 0.800000000 -> trap 0.800000000  protected"
        in said
    )


def test_tables_errors_and_answers_without_scores_are_shown_too(files, make_scorecard, make_baseline, capsys):
    def bare(row):
        plain = tuple(one.model_copy(update={"score": None}) for one in row.candidates)
        if row.id.startswith("GT-01"):
            return row.model_copy(update={"candidates": plain, "table": "floor"})
        if row.id.startswith("GT-02"):
            return row.model_copy(update={"status": "Timeout", "rank": None, "candidates": ()})
        if row.id.startswith("GT-04"):
            return row.model_copy(update={"candidates": row.candidates[1:], "rank": None})
        return row

    names = files(with_shadow(make_scorecard(), bare))
    assert run(["baseline", "accept", *names, "--reason", "because"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[:3] == [
        "LivePath GT-01-login-break: rank 1 -> 1, top cause 0.800000000 -> cause, table none -> floor",
        "LivePath GT-02-rca-gateway-down-floor: rank 1 -> timeout, top cause 0.800000000 -> nothing  lost",
        "LivePath GT-04-falkordb-down: rank 1 -> none, top cause 0.800000000 -> trap 0.700000000  lost",
    ]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ([], "Missing option '--reason'"),
        (["--reason", ""], "Usage: --reason is empty"),
        (
            ["--reason", "r", "-o", "/no/such/folder/x.json"],
            "FileUnreadable: /no/such/folder/x.json cannot be written",
        ),
        (["--reason", "r", "--policy", "/no/such/policy"], "FileUnreadable: "),
    ],
)
def test_what_cannot_be_used_ends_with_status_2_and_one_sentence(files, make_scorecard, capsys, more, says):
    assert run(["baseline", "accept", *files(lifted(make_scorecard(), "GT-01")), *more]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err
    assert len(said.err.splitlines()) == 1


def test_files_that_are_no_baseline_or_scorecard_end_with_status_2(files, make_scorecard, tmp_path, capsys):
    old, card = files(make_scorecard())
    for names in ([card, card], [old, old], [str(tmp_path / "none"), card], [os.devnull, card]):
        assert run(["baseline", "accept", *names, "--reason", "because"]) == 2
        said = capsys.readouterr()
        assert (said.out, len(said.err.splitlines())) == ("", 1)


def test_write_tells_of_a_wrong_path_before_it_reads_anything(files, make_scorecard, tmp_path, capsys):
    _, card = files(make_scorecard())
    assert run(["baseline", "write", card, "-o", str(tmp_path)]) == 2
    assert "it is a folder" in capsys.readouterr().err


def test_a_baseline_without_the_new_fields_equals_one_that_leaves_them_out():
    engine = Engine(name="e", version="1")
    bare = BaselineProvenance(engine=engine, created_by="x")
    assert bare.plain() == {"engine": {"name": "e", "version": "1"}, "createdBy": "x"}
