"""What is not there, or not allowed, is named; what is mended is noticed without anybody's help."""

from collections.abc import Callable

import pytest
from rca_testing.emulator.lab import DATASET, Lab

pytestmark = pytest.mark.emulated


def _without(lab: Lab, *, suite: bool = True, data: bool = True, target: bool = True) -> None:
    if target:
        lab.modes()
    if data:
        lab.data()
    if suite:
        lab.suite()
    lab.component()


def _opt_in(lab: Lab) -> None:
    def change(body: dict[str, dict[str, object]]) -> None:
        body["metadata"]["labels"] = {"rca.bluerobin.io/watch": "Enabled"}
        body["metadata"]["annotations"] = {"rca.bluerobin.io/keys": "RcaLiveActivation.Mode"}

    lab.store.edit("configmaps", "shop", "modes", change)


def _no_label(lab: Lab) -> None:
    lab.modes(labels={})
    _without(lab, target=False)


def _no_key_listed(lab: Lab) -> None:
    lab.modes(annotations={"rca.bluerobin.io/keys": "Other.Mode"})
    _without(lab, target=False)


def _stale_baseline(lab: Lab) -> None:
    _without(lab)
    lab.store.edit(
        "configmaps", "shop", "incidents", lambda body: body["data"].update({"ground-truth.json": _LONGER})
    )


def _broken_dataset(lab: Lab) -> None:
    _without(lab)
    lab.store.edit(
        "configmaps", "shop", "incidents", lambda body: body["data"].update({"ground-truth.json": "{"})
    )


def _restore(lab: Lab) -> None:
    content = {"ground-truth.json": DATASET.decode()}
    lab.store.edit("configmaps", "shop", "incidents", lambda body: body["data"].update(content))


def _no_baseline_key(lab: Lab) -> None:
    _without(lab, data=False)
    lab.create("configmaps", "incidents", data={"ground-truth.json": DATASET.decode()})


def _replace_data(lab: Lab) -> None:
    lab.store.delete("configmaps", "shop", "incidents")
    lab.data()


_LONGER = DATASET.decode() + "\n"

CASES: dict[str, tuple[Callable[[Lab], object], str, Callable[[Lab], object]]] = {
    "no suite": (lambda lab: _without(lab, suite=False), "SuiteNotFound", lambda lab: lab.suite()),
    "no dataset": (lambda lab: _without(lab, data=False), "DatasetNotFound", lambda lab: lab.data()),
    "no key with the baseline": (_no_baseline_key, "BaselineKeyMissing", _replace_data),
    "a broken dataset": (_broken_dataset, "DatasetInvalid", _restore),
    "a baseline of another dataset": (_stale_baseline, "BaselineStale", _restore),
    "no target": (lambda lab: _without(lab, target=False), "TargetNotFound", lambda lab: lab.modes()),
    "a target without our label": (_no_label, "TargetNotOptedIn", _opt_in),
    "a target that does not list the key": (_no_key_listed, "TargetNotOptedIn", _opt_in),
}


@pytest.mark.parametrize("case", CASES)
async def test_what_is_missing_is_named_and_noticed_when_it_comes(lab: Lab, case: str) -> None:
    prepare, reason, mend = CASES[case]
    prepare(lab)
    lab.start()
    condition = await lab.reason("Ready", reason)
    assert (condition["status"], lab.status()["phase"]) == ("False", "Pending")
    assert len(condition["message"]) > 40, "a sentence that says what to do"
    await lab.quiet()
    assert lab.list("evalruns") == []
    told = [event["reason"] for event in lab.events("RcaComponent")]
    assert told.count(reason) == 1
    mend(lab)
    await lab.until(lambda: lab.list("jobs"))
    assert lab.condition("Ready")["status"] == "True"
    assert not lab.condition("Stalled")


async def test_a_target_that_loses_its_opt_in_is_not_written_any_more(lab: Lab) -> None:
    lab.everything(observation={"period": "1h", "interval": "10m", "minPassingRuns": 2})
    lab.start()
    await lab.phase("Observing")
    lab.store.edit("configmaps", "shop", "modes", lambda body: body["metadata"].update(labels={}))
    await lab.reason("Stalled", "TargetNotOptedIn", within=15)
    await lab.quiet(900)
    assert lab.key_writes() == []


async def test_an_absent_key_is_added(lab: Lab) -> None:
    lab.modes({"Unrelated.Mode": "Active"})
    _without(lab, target=False)
    lab.start()
    await lab.phase("Active")
    assert lab.get("configmaps", "modes")["data"] == {
        "RcaLiveActivation.Mode": "Active",
        "Unrelated.Mode": "Active",
    }


async def test_a_target_without_any_data_gets_its_first_key(lab: Lab) -> None:
    lab.modes()
    lab.store.edit("configmaps", "shop", "modes", lambda body: body.pop("data"))
    _without(lab, target=False)
    lab.start()
    await lab.phase("Active")
    assert lab.get("configmaps", "modes")["data"] == {"RcaLiveActivation.Mode": "Active"}


async def test_an_immutable_target_is_named(lab: Lab) -> None:
    lab.everything()
    lab.store.edit("configmaps", "shop", "modes", lambda body: body.update(immutable=True))
    lab.start()
    await lab.reason("Stalled", "TargetImmutable")
    assert lab.mode() == "Shadow"


async def test_a_key_that_gitops_applies_is_left_to_gitops(lab: Lab) -> None:
    fields = {"f:data": {"f:RcaLiveActivation.Mode": {}}}
    entry = {
        "manager": "argocd-controller",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    lab.modes(managedFields=[entry])
    _without(lab, target=False)
    lab.start()
    condition = await lab.reason("Stalled", "ConfigConflict")
    assert "argocd-controller" in condition["message"]
    await lab.quiet()
    assert lab.key_writes() == []


async def test_a_spec_edited_right_after_its_creation_counts_as_edited(lab: Lab) -> None:
    """The first event may still be in work when the second comes: the last spec wins, with one Job for it."""
    lab.modes()
    lab.data()
    lab.suite()
    lab.start()
    await lab.quiet(5)
    lab.component(revision="r1")
    lab.store.edit("rcacomponents", "shop", "live", lambda body: body["spec"].update(revision="r2"))
    status = await lab.phase("Active")
    assert status["promotion"]["revision"] == "r2"
    assert {run["spec"]["revision"] for run in lab.list("evalruns")} == {"r2"}


async def test_foreign_writes_towards_shadow_are_respected(lab: Lab) -> None:
    lab.everything()
    lab.start()
    await lab.phase("Active")
    lab.store.edit(
        "configmaps", "shop", "modes", lambda body: body["data"].update({"RcaLiveActivation.Mode": "Shadow"})
    )
    await lab.reason("Promoted", "External")
    await lab.quiet(600)
    assert lab.mode() == "Shadow"
    assert len(lab.key_writes()) == 1


async def test_a_deleted_component_leaves_the_key_as_it_is_and_takes_its_runs_along(lab: Lab) -> None:
    lab.everything()
    lab.start()
    await lab.phase("Active")
    await lab.quiet()
    lab.store.delete("rcacomponents", "shop", "live")
    before = len(lab.server.writes())
    await lab.quiet()
    assert lab.mode() == "Active"
    assert lab.list("evalruns") == lab.list("jobs") == []
    assert len(lab.server.writes()) == before


async def test_suspension_stops_everything_but_the_wish_for_shadow(lab: Lab) -> None:
    lab.everything()
    lab.start()
    await lab.phase("Active")
    lab.store.edit("rcacomponents", "shop", "live", lambda body: body["spec"].update(suspend=True))
    await lab.phase("Suspended")
    runs = len(lab.list("evalruns"))
    await lab.quiet(300)
    assert len(lab.list("evalruns")) == runs
    lab.store.edit("rcacomponents", "shop", "live", lambda body: body["spec"].update(mode="Shadow"))
    await lab.until(lambda: lab.mode() == "Shadow", within=5)
