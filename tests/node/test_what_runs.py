"""A Deployment of the agent on a real node, rolled while its component is Active.

The kubelet says which image runs, the downward API tells the agent its own revision, and the agent says what governs. The
tests of this module are one story and run in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from rca_testing.node import (
    DATA,
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
)

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]

KEY, TARGET, AGENT = "RcaLiveActivation.Mode", "agent-modes", "agent"
ANNOTATION = "rca.bluerobin.io/revision"
SHADOWS, GOVERNS = "all components in Shadow", f"governed by {KEY}"
HARNESS = "rca-rollout/harness:dev"
# A Pod is asked while it still has to shadow; then the time that is wanted is set to nothing.
LONG, OVER = {"period": "1h", "interval": "1h", "minPassingRuns": 1}, {"period": "0s"}
ROAD_SECONDS, KUBELET_SECONDS = 300, 150
CONFINED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


def agent(revision: str) -> Body:
    labels = {"app": AGENT}
    container = {
        "name": "agent",
        "image": HARNESS,
        "imagePullPolicy": "IfNotPresent",
        "args": [
            "rca-eval",
            "serve",
            "--modes=/etc/rca/modes",
            "--listen=:8080",
            "--source=catalogue:graded",
            "--revision=$(AGENT_REVISION)",
        ],
        "env": [
            {
                "name": "AGENT_REVISION",
                "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{ANNOTATION}']"}},
            },
            {"name": "RCA_AGENT_DATABASE", "value": "sqlite:////tmp/rca-lifecycles.db"},
        ],
        "readinessProbe": {
            "httpGet": {"path": "/readyz", "port": 8080},
            "periodSeconds": 2,
            "timeoutSeconds": 5,
        },
        "securityContext": CONFINED,
        "volumeMounts": [
            {"name": "modes", "mountPath": "/etc/rca/modes", "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},
        ],
    }
    pod = {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "modes", "configMap": {"name": TARGET}}, {"name": "tmp", "emptyDir": {}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": AGENT},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": {ANNOTATION: revision}}, "spec": pod},
        },
    }


def of_workload() -> Body:
    body = component(AGENT, suite="suite", target=TARGET, key=KEY, observation=LONG)
    del body["spec"]["revision"]
    body["spec"]["workloadRef"] = {"kind": "Deployment", "name": AGENT}
    body["spec"]["target"]["values"] = {"shadow": "Shadow", "active": "Active@{revision}"}
    return body


@dataclass(frozen=True)
class Story:
    place: Place
    recorder: Recorder

    def value(self) -> str:
        return str(self.place.get("ConfigMap", TARGET)["data"][KEY])

    def status(self) -> Body:
        return self.place.get("RcaComponent", AGENT).get("status") or {}

    def pod(self, revision: str) -> str:
        """The ready Pod of that revision; others may be ending beside it."""
        pods = [
            pod["metadata"]["name"]
            for pod in self.place.list("Pod", f"app={AGENT}")
            if pod["metadata"]["annotations"].get(ANNOTATION) == revision
            and not pod["metadata"].get("deletionTimestamp")
            and condition(pod, "Ready").get("status") == "True"
        ]
        assert len(pods) == 1, pods
        return str(pods[0])

    def says(self, revision: str) -> str:
        """What that agent answers to an incident, in one line: its end says what governs."""
        asked = ("rca-eval", "simulate", "GT-04", "--agent", "http://127.0.0.1:8080")
        return " ".join(self.place.kubectl("exec", self.pod(revision), "--", *asked).split())

    def answers(self, revision: str, words: str, seconds: float = KUBELET_SECONDS) -> None:
        def look() -> None:
            self.place.look_at_volumes(f"app={AGENT}")
            assert words in self.says(revision)

        eventually(look, seconds=seconds, every=3)

    def observed(self) -> None:
        self.place.spec("RcaComponent", AGENT, observation=OVER)

    def promoted(self, word: str) -> None:
        def look() -> None:
            status = self.status()
            assert (self.value(), status.get("phase")) == (word, "Active"), status

        eventually(look, seconds=ROAD_SECONDS, every=1)

    def values(self) -> list[str]:
        found = [version["data"][KEY] for version in self.recorder.versions("ConfigMap", TARGET)]
        return [value for number, value in enumerate(found) if number == 0 or value != found[number - 1]]


@pytest.fixture(scope="module")
def story(api: Api, kinds: None) -> Iterator[Story]:
    with restricted_namespace(api) as place:
        recorder = Recorder(place, ("ConfigMap", "RcaComponent", "EvalRun")).start()
        operator = Operator(place, f"watch.namespaces={{{place.name}}}")
        floor = baseline("baseline", DATA / "baseline.graded.json")
        suite = {
            "apiVersion": "rca.bluerobin.io/v1alpha1",
            "kind": "EvalSuite",
            "metadata": {"name": "suite"},
            "spec": {
                "dataset": {"configMapRef": {"name": "incidents"}},
                "baseline": {"configMapRef": {"name": "baseline"}},
                "job": {"command": ["rca-eval", "job", "engine"]},
            },
        }
        place.create(dataset(), floor, modes(TARGET, **{KEY: "Shadow"}), agent("r6"))
        operator.ready()
        place.create(suite, of_workload())
        try:
            yield Story(place, recorder)
        finally:
            recorder.stop()


def test_the_agent_is_promoted_under_the_word_of_its_revision_and_governs(story: Story) -> None:
    story.answers("r6", SHADOWS, ROAD_SECONDS)
    story.observed()
    story.promoted("Active@r6")
    story.answers("r6", GOVERNS)


def test_what_was_evaluated_is_what_the_pods_run_by_the_kubelets_word(story: Story) -> None:
    pods = story.place.list("Pod", f"app={AGENT}")
    ran = {state["imageID"] for pod in pods for state in pod["status"]["containerStatuses"]}
    assert len(ran) == 1
    status = story.status()
    assert ran.pop().endswith(status["imageDigest"])
    assert status["promotion"]["imageDigest"] == status["imageDigest"]
    for run in story.place.list("EvalRun"):
        if (run.get("status") or {}).get("phase") == "Passed":
            assert run["status"]["imageDigest"] == status["imageDigest"]
            assert run["status"]["inputs"]["imageDigest"] == status["imageDigest"]


def test_a_new_image_answers_in_shadow_until_it_is_promoted_itself(story: Story) -> None:
    story.place.spec("RcaComponent", AGENT, observation=LONG)
    story.place.patch(
        "Deployment", AGENT, {"spec": {"template": {"metadata": {"annotations": {ANNOTATION: "r7"}}}}}
    )

    def back() -> None:
        assert story.value() == "Shadow"

    eventually(back, seconds=60)
    story.place.kubectl("rollout", "status", f"deployment/{AGENT}", "--timeout=120s")
    assert story.value() == "Shadow"
    assert SHADOWS in story.says("r7")
    assert story.status()["demotion"]["cause"] == "RevisionChanged"
    story.observed()
    story.promoted("Active@r7")
    story.answers("r7", GOVERNS)
    assert story.values() == ["Shadow", "Active@r6", "Shadow", "Active@r7"]


def test_rolled_back_while_it_is_held_the_promoted_revision_governs_again_without_a_write(
    story: Story,
) -> None:
    story.place.spec("RcaComponent", AGENT, promotion={"onNewRevision": "Hold"}, observation=LONG)
    story.place.patch(
        "Deployment", AGENT, {"spec": {"template": {"metadata": {"annotations": {ANNOTATION: "r8"}}}}}
    )

    def held() -> None:
        status = story.status()
        assert (status.get("held") or {}).get("revision") == "r7", status

    eventually(held, seconds=120)
    assert story.value() == "Active@r7"
    story.answers("r8", SHADOWS)
    story.place.kubectl("rollout", "undo", f"deployment/{AGENT}")

    def again() -> None:
        status = story.status()
        assert status.get("phase") == "Active", status
        assert (status.get("promotion") or {}).get("revision") == "r7"

    eventually(again, seconds=120)
    story.answers("r7", GOVERNS)
    assert story.values()[-1] == "Active@r7"
    assert story.values().count("Active@r7") == 1
    assert condition(story.place.get("RcaComponent", AGENT), "Promoted")["status"] == "True"
