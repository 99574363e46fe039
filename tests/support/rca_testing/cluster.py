"""A real API server for tests: the one that `make test` gives, one of your own, or one that is started for the session.

RCA_CLUSTER_KUBECONFIG   a kubeconfig of your own, taken as it is
RCA_TEST_KUBECONFIG      set by `make test`
RCA_TEST_BIN             a directory with kubectl; default: the cluster tooling builds or finds it
RCA_TEST_KEEP=1          leave a cluster up that was started here
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml
from kubernetes import client, config

from rca_testing.crds import CRDS

ROOT = CRDS.parent
# Not the name that `make test` uses: both may run at the same time.
NAME = "rca-pytest"
GROUP = "rca.bluerobin.io"
VERSION = "v1alpha1"


class KubectlError(AssertionError):
    """kubectl ended with an error; the message is what it printed."""


@dataclass(frozen=True)
class Refusal:
    """Why the API server did not take an object."""

    code: int
    message: str


class Cluster:
    """One API server."""

    def __init__(self, kubeconfig: Path, kubectl: Path) -> None:
        self.kubeconfig = kubeconfig
        self.kubectl_binary = kubectl
        self._client: client.ApiClient = config.new_client_from_config(str(kubeconfig))  # type: ignore[no-untyped-call]
        self.core = client.CoreV1Api(self._client)
        self.objects = client.CustomObjectsApi(self._client)

    def kubectl(self, *args: str, input: str | None = None) -> str:
        """What kubectl prints; an error is raised with its words."""
        done = subprocess.run(
            [str(self.kubectl_binary), "--kubeconfig", str(self.kubeconfig), *args],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(args)}\n{done.stderr}")
        return done.stdout

    def create(self, namespace: str, body: dict[str, Any], *, dry_run: bool = False) -> Any:
        """The stored object, or the Refusal. Unknown fields are refused, as kubectl does it."""
        return self._answer(
            self.objects.create_namespaced_custom_object,
            *(GROUP, VERSION, namespace, plural(body["kind"]), body),
            field_validation="Strict",
            **({"dry_run": "All"} if dry_run else {}),
        )

    def replace(self, namespace: str, body: dict[str, Any], *, status: bool = False) -> Any:
        """The stored object, or the Refusal."""
        method = (
            self.objects.replace_namespaced_custom_object_status
            if status
            else self.objects.replace_namespaced_custom_object
        )
        place = (GROUP, VERSION, namespace, plural(body["kind"]), body["metadata"]["name"])
        return self._answer(method, *place, body, field_validation="Strict")

    def get(self, namespace: str, kind: str, name: str) -> dict[str, Any]:
        """The stored object."""
        found = self.objects.get_namespaced_custom_object(GROUP, VERSION, namespace, plural(kind), name)
        return cast("dict[str, Any]", found)

    @staticmethod
    def _answer(method: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(*args, **options)
        except client.ApiException as error:
            return Refusal(error.status or 0, json.loads(error.body or "{}").get("message", str(error)))


def plural(kind: str) -> str:
    return f"{kind.lower()}s"


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """The cluster for a session; what was started here is taken down again."""
    given = os.environ.get("RCA_CLUSTER_KUBECONFIG") or os.environ.get("RCA_TEST_KUBECONFIG")
    if given:
        yield Cluster(Path(given), _kubectl())
        return
    kept = _tool("status", "--name", NAME, check=False).returncode == 0
    path = _tool("up", "--control-plane-only", "--name", NAME).stdout.strip()
    try:
        yield Cluster(Path(path), _kubectl())
    finally:
        if not kept and os.environ.get("RCA_TEST_KEEP") != "1":
            _tool("down", "--name", NAME)


@contextmanager
def installed_crds(cluster: Cluster) -> Iterator[None]:
    """Our CRDs, Established; removed afterwards if they were not there before."""
    names = [
        yaml.safe_load(path.read_text(encoding="utf-8"))["metadata"]["name"] for path in CRDS.glob("*.yaml")
    ]
    before = cluster.kubectl("get", "crd", "-o", "name")
    cluster.kubectl("apply", "-f", str(CRDS))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", *names)
    try:
        yield
    finally:
        ours = [name for name in names if f"/{name}" not in before]
        if ours:
            cluster.kubectl("delete", "crd", "--timeout=50s", *ours)


@contextmanager
def fresh_namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace with a default service account (Pods need it), deleted afterwards without waiting."""
    wish = client.V1Namespace(metadata=client.V1ObjectMeta(generate_name="rca-test-"))
    made = cluster.core.create_namespace(wish).metadata
    assert made is not None
    assert made.name is not None
    namespace = made.name
    try:
        deadline = time.monotonic() + 20
        while not cluster.core.list_namespaced_service_account(namespace).items:
            assert time.monotonic() < deadline, "the controllers made no default service account"
            time.sleep(0.05)
        yield namespace
    finally:
        cluster.core.delete_namespace(namespace)


def _kubectl() -> Path:
    given = os.environ.get("RCA_TEST_BIN")
    return Path(given or _tool("ensure-tools", "kubectl").stdout.strip()) / "kubectl"


def _tool(*args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """The cluster tooling. A cold cache takes minutes, which its own progress display explains."""
    return subprocess.run(
        [sys.executable, "-m", "hack.cluster", *args],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=check,
        timeout=1500,
    )
