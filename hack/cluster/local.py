"""A cluster on this machine without Docker: up and down."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from hack.cluster import (
    cgroups,
    controlplane,
    localnode,
    network,
    ociarchive,
    packages,
    process,
    recipes,
    supervisor,
    tools,
    versions,
)
from hack.cluster import (
    state as states,
)
from hack.cluster.api import Api
from hack.cluster.certificates import Authority
from hack.cluster.errors import ClusterError
from hack.cluster.localnode import Binaries
from hack.cluster.manifest import ensure_entry
from hack.cluster.paths import DEFAULT_NAME, ClusterPaths, cache_root
from hack.cluster.state import Kind, State
from hack.cluster.supervisor import Component

API_SECONDS = 60.0
NODE_SECONDS = 90.0


def api_of(paths: ClusterPaths, state: State) -> Api:
    authority = Authority(paths.pki)
    return Api(
        state.server,
        authority,
        authority.issue("admin", common_name="rca-admin", organization="system:masters"),
    )


def context_name(name: str) -> str:
    """The context's name always says that the cluster is one of ours: rca-local, or rca-NAME."""
    if name == DEFAULT_NAME:
        return "rca-local"
    return name if name.startswith("rca-") else f"rca-{name}"


def component_names(state: State) -> tuple[str, ...]:
    return controlplane.NAMES + (localnode.NAMES if state.with_node else ())


def healthy(paths: ClusterPaths, state: State) -> bool:
    """Whether everything runs and answers."""
    if any(supervisor.running(paths, name) is None for name in component_names(state)):
        return False
    api = api_of(paths, state)
    if not api.ready():
        return False
    return api.node_ready(state.name) if state.with_node else True


def up(paths: ClusterPaths, kind: Kind) -> State:
    """Bring the cluster up, or repair it: whatever runs is kept, whatever does not is started."""
    state = states.load(paths)
    if state is not None and state.kind is not kind:
        raise ClusterError(
            f"The cluster {paths.name!r} exists as {state.kind.value!r}, not as {kind.value!r}: run "
            f"`python -m hack.cluster down --name {paths.name}` first, or choose another --name."
        )
    if state is not None and healthy(paths, state):
        return state
    binaries = _binaries(paths, kind)
    if state is None:
        down(paths)  # leftovers of a cluster whose state was lost
        state = _decide(paths, kind)
        states.save(paths, state)
    _start(paths, state, *binaries)
    return state


def _binaries(paths: ClusterPaths, kind: Kind) -> tuple[Path, Binaries | None]:
    if kind is Kind.CONTROL_PLANE:
        packages.ensure([packages.OPENSSL], purpose="the control plane")
        return tools.ensure(recipes.CONTROL_PLANE), None
    localnode.check_directories(paths)
    system = packages.ensure(packages.NODE, purpose="the local node")
    plane = tools.ensure(recipes.CONTROL_PLANE)
    return plane, Binaries(tools.ensure(recipes.NODE), tools.ensure(recipes.CONTAINERD), system)


def _decide(paths: ClusterPaths, kind: Kind) -> State:
    api, etcd, peer, controller, scheduler = network.free_ports(5)
    return State(
        name=paths.name,
        kind=kind,
        context=context_name(paths.name),
        slot=network.choose_slot() if kind is Kind.NODE else 0,
        api_port=api,
        etcd_port=etcd,
        etcd_peer_port=peer,
        controller_port=controller,
        scheduler_port=scheduler,
    )


def _start(paths: ClusterPaths, state: State, plane: Path, node: Binaries | None) -> None:
    identities = controlplane.issue(paths, state)
    controlplane.write_kubeconfigs(paths, state, identities)
    cgroup_files: tuple[Path, ...] = ()
    if node is not None:
        cgroup_files = tuple(cgroups.create(state.name))
        localnode.ensure_cable(paths, state)
        localnode.write_configuration(paths, state, identities, node)
    lines = controlplane.commands(paths, state, identities, plane)
    parts = {name: Component(name, tuple(line), cgroup_files) for name, line in lines.items()}
    if node is not None:
        parts |= localnode.components(paths, state, node)
    api = api_of(paths, state)

    first: list[str] = [name for name in ("etcd", "kube-apiserver", "containerd") if name in parts]
    for name in first:
        supervisor.ensure_running(paths, parts[name])
    supervisor.wait_for(api.ready, what="the API server", seconds=API_SECONDS, paths=paths, needs=first)
    if node is not None:
        _load_pause_image(paths, node)
    for name in parts:
        supervisor.ensure_running(paths, parts[name])
    namespace = "/api/v1/namespaces/default/serviceaccounts/default"
    supervisor.wait_for(
        lambda: api.exists(namespace), what="the controllers", seconds=API_SECONDS, paths=paths, needs=parts
    )
    if node is not None:
        supervisor.wait_for(
            lambda: api.node_ready(state.name) and api.node_knows_its_pods(state.name),
            what="the node",
            seconds=NODE_SECONDS,
            paths=paths,
            needs=parts,
        )


def _load_pause_image(paths: ClusterPaths, node: Binaries) -> None:
    def make(target: Path) -> None:
        ociarchive.write_sandbox(
            target / "pause.tar", name=versions.PAUSE_IMAGE, busybox=Path(node.system["busybox"])
        )

    entry = ensure_entry(
        cache_root() / "images" / "pause" / versions.PAUSE_IMAGE.rpartition(":")[2],
        make,
        what="the sandbox image",
    )
    supervisor.wait_for(
        lambda: localnode.containerd_answers(paths, node),
        what="containerd", seconds=30, paths=paths, needs=["containerd"],
    )  # fmt: skip
    answer = localnode.ctr(paths, node.containerd, "images", "import", str(entry / "pause.tar"))
    if answer.returncode != 0:
        raise ClusterError(
            f"The sandbox image cannot be loaded: {answer.stderr.strip() or answer.stdout.strip()}"
        )


def down(paths: ClusterPaths) -> None:
    """Remove every trace, from the records and from the system itself; whatever is already gone is fine."""
    _kill_everything(paths)
    localnode.remove_cable(f"v-{paths.name}")
    _unmount(paths.root)
    _retry(lambda: not cgroups.remove(paths.name), seconds=10)
    left = [str(path) for path in cgroups.branches(paths.name)]
    shutil.rmtree(paths.root, ignore_errors=True)
    if paths.root.exists():
        left.append(str(paths.root))
    if left:
        raise ClusterError(f"These could not be removed: {', '.join(left)}.")


def _kill_everything(paths: ClusterPaths) -> None:
    """Kill in rounds, because a process may be starting another one meanwhile."""
    for _ in range(20):
        victims = set(process.marked(str(paths.root)))
        for file in paths.pids.glob("*.json"):
            identity = process.recorded(paths.pids, file.stem)
            if identity is not None and process.alive(identity):
                victims.add(identity)
        for pid in cgroups.processes(paths.name):
            identity = process.identity_of(pid)
            if identity is not None:
                victims.add(identity)
        if not victims:
            return
        for identity in victims:
            process.kill(identity)
        process.wait_until_dead(victims, seconds=3)
    raise ClusterError(
        f"Processes of the cluster {paths.name!r} refuse to die: {sorted(v.pid for v in victims)}."
    )


def _unmount(root: Path) -> None:
    """Normally nothing: the node's mounts are in its own namespace and vanish with it."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        points = [line.split()[4].replace("\\040", " ") for line in lines]
        for point in sorted((p for p in points if Path(p).is_relative_to(root)), key=len, reverse=True):
            subprocess.run(["umount", "--lazy", point], capture_output=True, check=False)


def _retry(attempt: Callable[[], bool], *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not attempt() and time.monotonic() < deadline:
        time.sleep(0.1)
