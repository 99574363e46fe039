"""up, down and status, whoever runs the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hack.cluster import contexts, engine, local, localnode, supervisor
from hack.cluster import state as states
from hack.cluster.errors import ClusterError
from hack.cluster.lock import locked
from hack.cluster.paths import ClusterPaths, state_root
from hack.cluster.progress import note
from hack.cluster.state import Kind, State


@dataclass(frozen=True)
class Status:
    """What `status` shows. `state` is absent, degraded or ready."""

    name: str
    state: str
    kind: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    server: str | None = None
    components: dict[str, int | None] = field(default_factory=dict)


@contextmanager
def _exclusively(paths: ClusterPaths) -> Iterator[None]:
    """Two terminals that bring the same cluster up or down take turns."""
    with locked(state_root() / f".{paths.name}.lock", f"the cluster {paths.name!r}"):
        yield


def up(name: str, *, context: str | None, allow_unknown: bool, control_plane_only: bool) -> ClusterPaths:
    """Bring a cluster up, or find it up already."""
    paths = ClusterPaths.of(name)
    if context is not None:
        if control_plane_only:
            raise ClusterError(
                "--context uses a cluster that exists; --control-plane-only makes one: give one of them."
            )
        contexts.check_name(context, allow_unknown=allow_unknown)
    with _exclusively(paths):
        if context is not None:
            _adopt(paths, context)
        else:
            _create(paths, control_plane_only=control_plane_only)
    return paths


def _adopt(paths: ClusterPaths, context: str) -> None:
    state = states.load(paths)
    if state is not None and (state.kind, state.context) != (Kind.CONTEXT, context):
        raise ClusterError(
            f"The cluster {paths.name!r} is already of the kind {state.kind.value!r} "
            f"(context {state.context!r}): run `python -m hack.cluster down --name {paths.name}` first, "
            "or choose another --name."
        )
    contexts.adopt(paths, context)
    states.save(paths, State(name=paths.name, kind=Kind.CONTEXT, context=context))


def _create(paths: ClusterPaths, *, control_plane_only: bool) -> None:
    state = states.load(paths)
    if control_plane_only:
        local.up(paths, Kind.CONTROL_PLANE)
    elif state is not None and state.kind is Kind.CONTEXT:
        note(f"using the context {state.context!r}, as before; `down` forgets it")
        contexts.adopt(paths, state.context)
    elif (state is not None and state.kind is Kind.KIND) or (state is None and engine.docker_answers()):
        engine.kind_up(paths)
        states.save(paths, State(name=paths.name, kind=Kind.KIND, context=f"kind-{paths.name}"))
    elif localnode.may_run_a_node():
        local.up(paths, Kind.NODE)
    else:
        raise ClusterError(
            "No Docker engine answers, and a node without it needs root (namespaces, mounts, cgroups): "
            f"run this as root, or `python -m hack.cluster up --control-plane-only --name {paths.name}`, "
            "which needs neither and is enough for everything but running Pods."
        )


def down(name: str) -> None:
    """Remove a cluster, or what is left of one."""
    paths = ClusterPaths.of(name)
    with _exclusively(paths):
        state = states.load(paths)
        if state is not None and state.kind is Kind.KIND:
            engine.kind_down(name)
        local.down(paths)


def status(name: str) -> Status:
    """Look without touching."""
    paths = ClusterPaths.of(name)
    state = states.load(paths)
    if state is None:
        return Status(name=name, state="absent")
    if state.kind in (Kind.CONTEXT, Kind.KIND):
        ready = contexts.answers(paths)
        return Status(
            name=name,
            state="ready" if ready else "degraded",
            kind=state.kind.value,
            context=state.context,
            kubeconfig=str(paths.kubeconfig),
        )
    found = {part: supervisor.running(paths, part) for part in local.component_names(state)}
    return Status(
        name=name,
        state="ready" if local.healthy(paths, state) else "degraded",
        kind=state.kind.value,
        context=state.context,
        kubeconfig=str(paths.kubeconfig),
        server=state.server,
        components={part: identity.pid if identity else None for part, identity in found.items()},
    )
