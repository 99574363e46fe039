"""The ring *node*: namespaces on a real node, the chart in them, and what happened there, written down as it happens."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from kubernetes import client, config

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "charts" / "rca-rollout"
DATA = ROOT / "harness" / "rca_eval" / "data"
PLAIN_BASELINE = ROOT / "examples" / "engines" / "plain" / "baseline.json"
OURS = "apis/rca.bluerobin.io/v1alpha1"
KINDS = {
    "ConfigMap": ("api/v1", "configmaps"),
    "Event": ("api/v1", "events"),
    "Pod": ("api/v1", "pods"),
    "ResourceQuota": ("api/v1", "resourcequotas"),
    "Service": ("api/v1", "services"),
    "ServiceAccount": ("api/v1", "serviceaccounts"),
    "Deployment": ("apis/apps/v1", "deployments"),
    "Job": ("apis/batch/v1", "jobs"),
    "EvalRun": (OURS, "evalruns"),
    "EvalSuite": (OURS, "evalsuites"),
    "RcaComponent": (OURS, "rcacomponents"),
}
# Everything of a namespace that the operator could write to, but for Events, which it writes by design.
WRITABLE = ("ConfigMap", "Job", "Pod", "EvalRun", "EvalSuite", "RcaComponent")

type Body = dict[str, Any]


def eventually[T](look: Callable[[], T], *, seconds: float, every: float = 0.25) -> T:
    """What `look` returns, once it raises no AssertionError any more; its last one when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return look()
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(every)


class Api:
    """Plain requests to the API server, from any thread."""

    def __init__(self, kubeconfig: Path, binaries: Path) -> None:
        self.kubeconfig, self.binaries = kubeconfig, binaries
        loaded = client.Configuration()
        config.load_kube_config(str(kubeconfig), client_configuration=loaded)  # type: ignore[no-untyped-call]
        context = ssl.create_default_context(cafile=loaded.ssl_ca_cert)
        if loaded.cert_file:
            context.load_cert_chain(loaded.cert_file, loaded.key_file)
        token = loaded.api_key.get("authorization")
        self.http = httpx.Client(
            base_url=loaded.host,
            verify=context,
            headers={"Authorization": token} if token else {},
            timeout=30,
            trust_env=False,
            limits=httpx.Limits(max_connections=200),
        )

    def close(self) -> None:
        self.http.close()

    def request(
        self, method: str, path: str, body: Any = None, *, content: str = "application/json", **query: str
    ) -> httpx.Response:
        return self.http.request(
            method,
            path,
            params=query,
            content=None if body is None else json.dumps(body),
            headers={"Content-Type": content},
        )

    def run(self, tool: str, *args: str, input: str | None = None, seconds: float = 120) -> str:
        """kubectl or helm; what they print."""
        done = subprocess.run(
            [str(self.binaries / tool), f"--kubeconfig={self.kubeconfig}", *args],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, f"{tool} {' '.join(args)}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@dataclass(frozen=True)
class Place:
    """One namespace."""

    api: Api
    name: str

    def path(self, kind: str, name: str = "", subresource: str = "") -> str:
        prefix, plural = KINDS[kind]
        parts = [prefix, "namespaces", self.name, plural, *filter(None, (name, subresource))]
        return "/" + "/".join(parts)

    def create(self, *bodies: Body) -> None:
        for body in bodies:
            answer = self.api.request("POST", self.path(body["kind"]), body, fieldManager="somebody")
            assert answer.status_code == 201, answer.text

    def find(self, kind: str, name: str) -> Body | None:
        answer = self.api.request("GET", self.path(kind, name))
        assert answer.status_code in (200, 404), answer.text
        found: Body | None = answer.json() if answer.status_code == 200 else None
        return found

    def get(self, kind: str, name: str) -> Body:
        found = self.find(kind, name)
        assert found is not None, f"there is no {kind} {name}"
        return found

    def list(self, kind: str, selector: str = "") -> list[Body]:
        answer = self.api.request("GET", self.path(kind), labelSelector=selector)
        assert answer.status_code == 200, answer.text
        items: list[Body] = answer.json()["items"]
        return items

    def patch(self, kind: str, name: str, change: Mapping[str, Any]) -> None:
        """A JSON merge patch, as a person would make it."""
        answer = self.api.request(
            "PATCH",
            self.path(kind, name),
            change,
            content="application/merge-patch+json",
            fieldManager="somebody",
        )
        assert answer.status_code == 200, answer.text

    def spec(self, kind: str, name: str, **change: Any) -> None:
        self.patch(kind, name, {"spec": change})

    def delete(self, kind: str, name: str) -> None:
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        answer = self.api.request("DELETE", self.path(kind, name), body)
        assert answer.status_code in (200, 202), answer.text

    def kubectl(self, *args: str) -> str:
        return self.api.run("kubectl", "-n", self.name, *args)

    def look_at_volumes(self, selector: str) -> None:
        """Touches the Pods, so that the kubelet brings their mounted ConfigMaps up to date at once: it does so when a Pod
        changes, and else about once a minute."""
        self.kubectl("annotate", "pods", "--selector", selector, f"test/look={time.time_ns()}", "--overwrite")


@contextmanager
def restricted_namespace(api: Api) -> Iterator[Place]:
    """A namespace that enforces the restricted Pod security profile; deleted afterwards without waiting."""
    wish = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "generateName": "rca-test-",
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    }
    made = api.request("POST", "/api/v1/namespaces", wish)
    assert made.status_code == 201, made.text
    place = Place(api, made.json()["metadata"]["name"])
    try:
        eventually(lambda: place.get("ServiceAccount", "default"), seconds=30)
        yield place
    finally:
        api.request("DELETE", f"/api/v1/namespaces/{place.name}")


class Operator:
    """A release of the chart in a namespace of its own, and the process behind it."""

    def __init__(self, place: Place, *settings: str, crds: bool = False, release: str = "rca") -> None:
        self.place, self.release = place, release
        self.name = release if "rca-rollout" in release else f"{release}-rca-rollout"
        chosen = [
            "image.tag=dev",
            "harness.image.tag=dev",
            f"crds.enabled={str(crds).lower()}",
            # These tests kill, freeze and measure *the* process; who takes over is the ring *cluster*'s business.
            "replicas=1",
            *settings,
        ]
        flags = [flag for setting in chosen for flag in ("--set", setting)]
        self._helm("install", release, str(CHART), *flags, "--take-ownership")

    def ready(self) -> None:
        def look() -> None:
            status = self.place.get("Deployment", self.name).get("status") or {}
            assert status.get("readyReplicas") == 1, f"the operator does not run: {status}"

        eventually(look, seconds=90)

    def uninstall(self) -> None:
        self._helm("uninstall", self.release, "--wait")

    def pod(self) -> Body:
        pods = self.place.list("Pod", f"app.kubernetes.io/instance={self.release}")
        alive = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
        assert len(alive) == 1, [pod["metadata"]["name"] for pod in pods]
        return alive[0]

    def pid(self) -> int:
        """The process on the host. AssertionError while there is none (just killed, or starting)."""
        uid = self.pod()["metadata"]["uid"]
        found = [
            pid
            for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if b"rca-rollout" in _read(pid, "cmdline") and _in_pod(_read(pid, "cgroup"), uid)
        ]
        assert len(found) == 1, f"processes of the operator's Pod: {found}"
        return found[0]

    def kill(self) -> int:
        """kill -9, and not before there is something to kill."""
        pid = eventually(self.pid, seconds=90, every=0.1)
        os.kill(pid, signal.SIGKILL)
        return pid

    def freeze(self) -> int:
        """Stops the process where it is: what follows happens without it."""
        pid = eventually(self.pid, seconds=90, every=0.1)
        os.kill(pid, signal.SIGSTOP)
        return pid

    def restarts(self) -> int:
        states = (self.pod().get("status") or {}).get("containerStatuses") or []
        return int(states[0]["restartCount"]) if states else 0

    def resident_mib(self) -> float:
        status = _read(self.pid(), "status").decode()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def metrics(self) -> str:
        """What Prometheus would scrape, through the API server's proxy."""
        answer = self.place.api.request(
            "GET", self.place.path("Service", f"{self.name}-metrics:metrics", "proxy/metrics")
        )
        assert answer.status_code == 200, answer.text
        return answer.text

    def log(self) -> str:
        answer = self.place.api.request("GET", self.place.path("Pod", self.pod()["metadata"]["name"], "log"))
        assert answer.status_code == 200, answer.text
        return answer.text

    def _helm(self, *args: str) -> None:
        self.place.api.run("helm", "-n", self.place.name, *args)


def _read(pid: int, name: str) -> bytes:
    try:
        return Path("/proc", str(pid), name).read_bytes()
    except OSError:
        return b""


def _in_pod(cgroup: bytes, uid: str) -> bool:
    # The systemd driver writes the UID with underscores.
    return uid.encode() in cgroup or uid.replace("-", "_").encode() in cgroup


@dataclass
class Recorder:
    """Everything that a watch said about some kinds of a namespace, in its order."""

    place: Place
    kinds: tuple[str, ...]
    seen: list[tuple[str, Body]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> Recorder:
        for kind in self.kinds:
            answer = self.place.api.request("GET", self.place.path(kind))
            assert answer.status_code == 200, answer.text
            listed = answer.json()
            self.seen.extend(("ADDED", {**item, "kind": kind}) for item in listed["items"])
            version = listed["metadata"]["resourceVersion"]
            thread = threading.Thread(target=self._follow, args=(kind, version))
            thread.start()
            self._threads.append(thread)
        return self

    def stop(self) -> None:
        """Returns when the watches under way have ended, a few seconds later."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def versions(self, kind: str, name: str | None = None) -> list[Body]:
        """Every version of the objects, in order; deleted ones once more."""
        return [
            body
            for _, body in list(self.seen)
            if body["kind"] == kind and name in (None, body["metadata"]["name"])
        ]

    def made(self, kind: str) -> list[Body]:
        """Each object as it looked when it was first seen."""
        first: dict[str, Body] = {}
        for body in self.versions(kind):
            first.setdefault(body["metadata"]["uid"], body)
        return list(first.values())

    def last(self, kind: str) -> list[Body]:
        """Each object as it was last seen, gone or not."""
        return list({body["metadata"]["uid"]: body for body in self.versions(kind)}.values())

    def _follow(self, kind: str, version: str) -> None:
        while not self._stop.is_set():
            query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "5"}
            with (
                contextlib.suppress(httpx.HTTPError, RuntimeError),
                self.place.api.http.stream("GET", self.place.path(kind), params=query) as answer,
            ):
                for line in answer.iter_lines():
                    said = json.loads(line)
                    if said["type"] == "ERROR":
                        return
                    version = said["object"]["metadata"]["resourceVersion"]
                    self.seen.append((said["type"], {**said["object"], "kind": kind}))


# -- objects that a user writes


def config_map(name: str, data: Mapping[str, str], **metadata: Any) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": dict(data),
    }


def modes(name: str, **keys: str) -> Body:
    """A target that opts in for all its keys."""
    return config_map(
        name,
        keys,
        labels={"rca.bluerobin.io/watch": "Enabled"},
        annotations={"rca.bluerobin.io/keys": ",".join(keys)},
    )


def dataset(name: str = "incidents") -> Body:
    return config_map(name, {"ground-truth.json": (DATA / "ground-truth.graded.json").read_text()})


def baseline(name: str = "baseline", source: Path = PLAIN_BASELINE) -> Body:
    return config_map(name, {"baseline.json": source.read_text()})


def suite(name: str, *, truth: str = "incidents", floor: str = "baseline", **job: Any) -> Body:
    """A suite of the plain engine: its image needs a fraction of a second for all incidents."""
    return {
        "apiVersion": "rca.bluerobin.io/v1alpha1",
        "kind": "EvalSuite",
        "metadata": {"name": name},
        "spec": {
            "dataset": {"configMapRef": {"name": truth}},
            "baseline": {"configMapRef": {"name": floor}},
            "job": {"image": plain_engine(), "imagePullPolicy": "IfNotPresent", **job},
        },
    }


def component(
    name: str, *, suite: str, target: str, key: str = "Mode", revision: str = "r1", **spec: Any
) -> Body:
    return {
        "apiVersion": "rca.bluerobin.io/v1alpha1",
        "kind": "RcaComponent",
        "metadata": {"name": name},
        "spec": {
            "suiteRef": {"name": suite},
            "revision": revision,
            "target": {"configMapRef": {"name": target}, "key": key},
            **spec,
        },
    }


def plain_engine() -> str:
    return os.environ.get("RCA_TEST_PLAIN_ENGINE_IMAGE", "rca-rollout/plain-engine:dev")


def condition(body: Body, kind: str) -> Body:
    held = (body.get("status") or {}).get("conditions") or []
    return next((c for c in held if c["type"] == kind), {})
