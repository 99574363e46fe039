"""The local node itself: it comes up, runs a Pod, is repaired, and goes without a trace, whatever was killed before.

It uses a cluster of its own name, so that it can be killed while other tests use theirs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.cluster import cgroups, engine, process, tools
from hack.cluster.paths import ClusterPaths, repository
from hack.cluster.state import State, load

NAME = "rca-life"
ELAPSED_RUNNING = 2.0
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "talker", "namespace": "restricted"},
    "spec": {
        "terminationGracePeriodSeconds": 0,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "talker",
                "image": "localhost/rca-pause:1",
                "imagePullPolicy": "Never",
                "command": ["/busybox", "sh", "-c", "echo I run; exec /busybox sleep 600"],
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    },
}
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "restricted", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
}

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(os.geteuid() != 0, reason="the local node needs root"),
    pytest.mark.skipif(engine.docker_answers(), reason="where Docker answers, kind runs the node"),
]


def _cluster(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hack.cluster", *arguments, "--name", NAME]
    done = subprocess.run(command, cwd=repository(), capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done


def _status() -> dict[str, object]:
    answer: dict[str, object] = json.loads(_cluster("status", "--json", check=False).stdout)
    return answer


def _components() -> dict[str, int | None]:
    components = _status()["components"]
    assert isinstance(components, dict)
    return components


def _dead_components() -> set[str]:
    return {name for name, pid in _components().items() if pid is None}


def _kubectl(*arguments: str, stdin: object = None, check: bool = True) -> str:
    kubeconfig = ClusterPaths.of(NAME).kubeconfig
    done = subprocess.run(
        [str(tools.kubectl()), f"--kubeconfig={kubeconfig}", *arguments],
        input=json.dumps(stdin) if stdin else None,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def _start_a_pod() -> None:
    deadline = time.monotonic() + 30
    _kubectl("apply", "-f", "-", stdin=NAMESPACE)
    while not _kubectl("-n", "restricted", "get", "serviceaccount", "default", check=False):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    _kubectl("apply", "-f", "-", stdin=POD)
    _kubectl("-n", "restricted", "wait", "--for=condition=Ready", "pod/talker", "--timeout=60s")


def _state() -> State:
    state = load(ClusterPaths.of(NAME))
    assert state is not None
    return state


def _pids_of(*programs: str) -> list[int]:
    marked = process.marked(str(ClusterPaths.of(NAME).root))
    return [item.pid for item in marked if Path(f"/proc/{item.pid}/exe").readlink().name in programs]


def _kill(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, 9)


def _assert_no_trace(state: State) -> None:
    paths = ClusterPaths.of(NAME)
    assert list(process.marked(str(paths.root))) == []
    assert cgroups.branches(NAME) == []
    assert not paths.root.exists()
    assert str(paths.root) not in Path("/proc/mounts").read_text()
    assert not Path("/sys/class/net", state.interface).exists()
    routes = subprocess.run(
        ["ip", "-4", "route", "show", "table", "all"], capture_output=True, text=True, check=True
    )
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=True)
    for trace in (state.node_subnet.removesuffix("0/24"), state.pod_subnet.removesuffix("0/24")):
        assert trace not in routes.stdout
        assert trace not in rules.stdout
    assert "KUBE-" not in rules.stdout


@pytest.fixture
def cluster() -> Iterator[State]:
    _cluster("down")
    _cluster("up")
    yield _state()
    _cluster("down")


def test_up_is_idempotent_and_quick_on_a_running_cluster(cluster: State) -> None:
    before = _components()
    began = time.monotonic()
    path = _cluster("up").stdout.strip()
    assert time.monotonic() - began < ELAPSED_RUNNING
    assert _components() == before
    assert path == str(ClusterPaths.of(NAME).kubeconfig)
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert _kubectl("config", "current-context").strip() == cluster.context == NAME


def test_a_pod_under_the_restricted_profile_runs_and_its_log_can_be_read(cluster: State) -> None:
    _start_a_pod()
    assert _kubectl("-n", "restricted", "logs", "talker") == "I run\n"
    assert "uid=65532" in _kubectl("-n", "restricted", "exec", "talker", "--", "/busybox", "id")


@pytest.mark.parametrize(
    "victims", [("kubelet",), ("containerd",), ("etcd",), ("kube-apiserver", "kube-proxy")]
)
def test_up_repairs_what_was_killed_and_the_pod_goes_on(cluster: State, victims: tuple[str, ...]) -> None:
    _start_a_pod()
    _kill(*_pids_of(*victims))
    deadline = time.monotonic() + 10
    while (dead := _dead_components()) != set(victims) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert dead == set(victims)
    assert _status()["state"] == "degraded"
    _cluster("up")
    assert _status()["state"] == "ready"
    assert _state() == cluster
    assert _kubectl("-n", "restricted", "logs", "talker") == "I run\n"
    restarts = "jsonpath={.status.containerStatuses[0].restartCount}"
    assert _kubectl("-n", "restricted", "get", "pod", "talker", "-o", restarts) == "0"


def test_up_makes_the_node_anew_when_its_first_process_was_killed(cluster: State) -> None:
    _start_a_pod()
    first = _components()["node"]
    assert first is not None
    _kill(first)
    _cluster("up")
    restarted = "--for=jsonpath={.status.containerStatuses[0].restartCount}=1"
    _kubectl("-n", "restricted", "wait", restarted, "pod/talker", "--timeout=60s")
    _kubectl("-n", "restricted", "wait", "--for=condition=Ready", "pod/talker", "--timeout=60s")
    assert "I run" in _kubectl("-n", "restricted", "logs", "talker")


def test_down_leaves_no_trace_and_can_be_repeated(cluster: State) -> None:
    _start_a_pod()
    _cluster("down")
    _assert_no_trace(cluster)
    _cluster("down")
    assert _status()["state"] == "absent"


@pytest.mark.parametrize(
    "victims",
    [
        ("kubelet", "containerd"),
        ("containerd-shim-runc-v2",),
        ("nsenter",),
        ("unshare",),
        ("etcd", "kube-apiserver"),
    ],
)
def test_down_leaves_no_trace_after_a_crash_with_pods_running(
    cluster: State, victims: tuple[str, ...]
) -> None:
    _start_a_pod()
    _kill(*_pids_of(*victims))
    _cluster("down")
    _assert_no_trace(cluster)


def test_down_leaves_no_trace_when_all_records_are_lost(cluster: State) -> None:
    _start_a_pod()
    paths = ClusterPaths.of(NAME)
    for record in [paths.state_file, *paths.pids.iterdir()]:
        record.unlink()
    _cluster("down")
    _assert_no_trace(cluster)


def test_down_cleans_up_after_an_up_that_was_killed_half_way() -> None:
    _cluster("down")
    command = [sys.executable, "-m", "hack.cluster", "up", "--name", NAME]
    with subprocess.Popen(
        command, cwd=repository(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as started:
        deadline = time.monotonic() + 30
        while not _pids_of("kube-apiserver") and time.monotonic() < deadline:
            time.sleep(0.05)
        started.kill()
    state = _state()
    _cluster("down")
    _assert_no_trace(state)


DOCKERFILE = """\
ARG BASE=python:3.13-slim
FROM ${BASE}
ARG WORD
RUN test -s /etc/pip.conf && test -s /etc/ssl/certs/ca-certificates.crt && python3 -m venv /opt/venv
COPY main.py /app/main.py
RUN printf '%s' "${WORD}" > /app/word
USER 65532:65532
ENTRYPOINT ["/opt/venv/bin/python", "/app/main.py"]
"""
PROGRAM = """\
from pathlib import Path

conf = Path("/etc/pip.conf")  # an empty place to mount on may be left, never the content
print(Path("/app/word").read_text(), conf.stat().st_size if conf.exists() else 0)
"""


def _image(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hack.cluster", "image", *arguments]
    done = subprocess.run(command, cwd=repository(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_an_image_is_built_once_loaded_once_and_holds_nothing_of_the_builder(
    cluster: State, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / "main.py").write_text(PROGRAM)
    name = "localhost/rca-life-test:1"
    build = ["build", name, "--file", str(tmp_path / "Dockerfile"), "--context", str(tmp_path)]
    word = str(time.time_ns())
    first = _image(*build, "--build-arg", f"WORD={word}")
    again = _image(*build, "--build-arg", f"WORD={word}")
    assert "building" in first.stderr
    assert "building" not in again.stderr
    assert first.stdout == again.stdout
    _image("load", name, "--name", NAME)
    assert "already" in _image("load", name, "--name", NAME).stderr

    _kubectl("apply", "-f", "-", stdin=NAMESPACE)
    pod = json.loads(json.dumps(POD))
    container = pod["spec"]["containers"][0]
    container["image"] = name
    del container["command"]
    pod["spec"]["restartPolicy"] = "Never"
    _kubectl("-n", "restricted", "wait", "--for=create", "serviceaccount/default", "--timeout=30s")
    _kubectl("apply", "-f", "-", stdin=pod)
    finished = "--for=jsonpath={.status.phase}=Succeeded"
    _kubectl("-n", "restricted", "wait", finished, "pod/talker", "--timeout=60s")
    assert _kubectl("-n", "restricted", "logs", "talker") == f"{word} 0\n"
