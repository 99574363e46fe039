"""Confirmation by the Pods of the reference agent, as the kubelet mounts their modes.

The tests of this module are one story and run in their order.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from rca_testing.node import (
    ROOT,
    Api,
    Body,
    Operator,
    Place,
    Recorder,
    baseline,
    component,
    condition,
    dataset,
    eventually,
    modes,
    restricted_namespace,
    suite,
)

from hack import images

pytestmark = [pytest.mark.node, pytest.mark.timeout(600)]

NAME, MODES, KEY = "live-activation", "rca-agent-modes", "RcaLiveActivation.Mode"
LABELS = {"app.kubernetes.io/name": "rca-agent"}
SELECTOR = "app.kubernetes.io/name=rca-agent"
QUICK = {"period": "0s", "interval": "10m", "minPassingRuns": 1}
STARTED, LOADED = 180, 150  # seconds; an agent brings its store up, the kubelet looks once in a minute or so


@dataclass(frozen=True)
class Story:
    place: Place
    recorder: Recorder

    @property
    def body(self) -> Body:
        return self.place.get("RcaComponent", NAME)

    @property
    def status(self) -> Body:
        return dict(self.body.get("status") or {})

    def value(self) -> str:
        return str(self.place.get("ConfigMap", MODES)["data"][KEY])

    def until(self, check: Callable[[Body], Any], seconds: float) -> Body:
        """Polls; meanwhile the Pods are touched, so that the kubelet looks at their volumes at once."""

        def look() -> Body:
            self.place.look_at_volumes(SELECTOR)
            assert check(self.status), self.status
            return self.status

        return eventually(look, seconds=seconds, every=2)


def deployment(name: str = "rca-agent", replicas: int = 2, **mount: str) -> Body:
    """The example's, with the image that was built here. `mount` changes how the modes come into the container."""
    documents = list(yaml.safe_load_all((ROOT / "examples" / "agent" / "2-agent.yaml").read_text("utf-8")))
    body: Body = copy.deepcopy(next(each for each in documents if each["kind"] == "Deployment"))
    body["metadata"]["name"] = name
    body["spec"]["replicas"] = replicas
    labels = {**LABELS, "deployment": name}
    body["spec"]["selector"]["matchLabels"] = labels
    template = body["spec"]["template"]
    template["metadata"]["labels"] = labels
    container = template["spec"]["containers"][0]
    container["image"] = images.HARNESS.name
    next(each for each in container["volumeMounts"] if each["name"] == "modes").update(mount)
    return body


@pytest.fixture(scope="module")
def story(api: Api, kinds: None) -> Iterator[Story]:
    with restricted_namespace(api) as place:
        recorder = Recorder(place, ("RcaComponent", "ConfigMap", "Event")).start()
        operator = Operator(place, f"watch.namespaces={{{place.name}}}")
        place.create(dataset(), baseline(), suite("suite"), modes(MODES, **{KEY: "Shadow"}))
        place.create(deployment())
        operator.ready()
        place.kubectl("rollout", "status", "deployment/rca-agent", f"--timeout={STARTED}s")
        confirmation = {"timeout": "5m", "http": {"selector": {"matchLabels": LABELS}, "port": 8080}}
        place.create(
            component(
                NAME,
                suite="suite",
                target=MODES,
                key=KEY,
                observation=QUICK,
                confirmation=confirmation,
            )
        )
        try:
            yield Story(place, recorder)
        finally:
            recorder.stop()


def test_it_is_promoted_when_both_pods_have_loaded_the_mode(
    story: Story, figure: Callable[[str], None]
) -> None:
    story.until(lambda status: status.get("confirmation"), LOADED)
    began = time.monotonic()
    status = story.until(lambda status: status.get("phase") == "Active", LOADED)
    figure(f"confirmation: both Pods had loaded the mode after {time.monotonic() - began:.0f} s")
    found = status["confirmation"]
    assert (found["mode"], found["state"], found["confirmed"], found["total"]) == (
        "Active",
        "Confirmed",
        2,
        2,
    )
    assert "2 of 2 replicas have loaded Active" in condition(story.body, "Promoted")["message"]
    said = [
        condition(version, "Promoted")["reason"]
        for version in story.recorder.versions("RcaComponent", NAME)
        if condition(version, "Promoted")
    ]
    assert said.index("Confirming") < said.index("Promoted")
    assert not [
        version
        for version in story.recorder.versions("RcaComponent", NAME)
        if condition(version, "Promoted").get("status") == "True"
        and version["status"]["confirmation"]["state"] != "Confirmed"
    ]


def test_a_demotion_is_confirmed_by_both_pods(story: Story) -> None:
    story.place.spec("RcaComponent", NAME, mode="Shadow")

    def back() -> None:
        assert story.value() == "Shadow"

    eventually(back, seconds=15, every=0.1)

    def confirmed(status: Body) -> bool:
        found = status.get("confirmation") or {}
        return (found.get("mode"), found.get("state")) == ("Shadow", "Confirmed")

    assert story.until(confirmed, LOADED)["confirmation"]["total"] == 2
    assert not condition(story.body, "Degraded")


def test_one_pod_whose_mount_never_changes_has_the_key_put_back_and_is_named(story: Story) -> None:
    stuck = deployment("rca-agent-stuck", 1, mountPath=f"/etc/rca/modes/{KEY}", subPath=KEY)
    story.place.create(stuck)
    story.place.kubectl("rollout", "status", "deployment/rca-agent-stuck", f"--timeout={STARTED}s")
    (pod,) = story.place.list("Pod", "deployment=rca-agent-stuck")
    name = pod["metadata"]["name"]
    confirmation = story.body["spec"]["confirmation"]
    story.place.spec("RcaComponent", NAME, mode="Active", confirmation={**confirmation, "timeout": "30s"})
    # Not the phase alone: for a moment the epoch is blocked, and the demotion not read back.
    status = story.until(
        lambda status: status.get("phase") == "Blocked" and not status.get("intent"), LOADED + 60
    )
    assert story.value() == "Shadow"
    promoted = condition(story.body, "Promoted")
    assert (promoted["status"], promoted["reason"]) == ("False", "ConfirmationFailed")
    assert f"{name} has loaded Shadow (it mounts the key by subPath" in promoted["message"]
    assert status["demotion"]["cause"] == "ConfirmationFailed"
    assert status["demotion"]["promotion"]["revision"] == "r1"
    values: list[str] = []
    for version in story.recorder.versions("ConfigMap", MODES):
        if version["data"][KEY] not in values[-1:]:
            values.append(version["data"][KEY])
    assert values == ["Shadow", "Active", "Shadow", "Active", "Shadow"]


def test_it_is_not_tried_again_until_the_mount_is_mended_and_somebody_asks_for_it(story: Story) -> None:
    written = len(story.recorder.versions("ConfigMap", MODES))
    time.sleep(20)
    assert len(story.recorder.versions("ConfigMap", MODES)) == written
    story.place.kubectl("delete", "deployment", "rca-agent-stuck", "--wait=true")
    epoch = story.status["epoch"]
    story.place.kubectl(
        "annotate",
        "rcac",
        NAME,
        f"rca.bluerobin.io/retry={epoch}/1",
        "rca.bluerobin.io/reason=the mount was mended",
    )
    confirmation = story.body["spec"]["confirmation"]
    story.place.spec("RcaComponent", NAME, confirmation={**confirmation, "timeout": "5m"})
    status = story.until(lambda status: status.get("phase") == "Active", LOADED + 60)
    assert status["confirmation"]["total"] == 2
    assert status["attempts"] == 1
