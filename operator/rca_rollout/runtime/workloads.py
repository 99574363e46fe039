"""What a component runs, read as it stands: the workload and its Pods, and the further inputs. Nothing is watched for it.

Workloads, Pods and Secrets of users are many, and change all day; a watch of them all would need rights to all of them, and
memory. So each is read by name (Pods by the workload's own selector) when its component is looked at, every 30 s at least.
"""

from __future__ import annotations

import asyncio
from typing import Any

from rca_rollout.api.component import RcaComponent
from rca_rollout.api.reasons import Reason
from rca_rollout.api.revision import WorkloadKind, WorkloadRef
from rca_rollout.core.inputs import keys_of, resolve_inputs
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, Unsettled, bound, declared, with_inputs
from rca_rollout.core.workloads import selector_of, view_workload
from rca_rollout.kube.errors import NotFoundError, RefusedError
from rca_rollout.kube.resources import CONFIGMAPS, DAEMON_SETS, DEPLOYMENTS, PODS, SECRETS, STATEFUL_SETS
from rca_rollout.runtime.world import World

type Read = dict[tuple[str, str], dict[str, Any] | Problem | None]


async def what_runs(world: World, component: RcaComponent) -> Running | Problem:
    """What runs, and with what; or why that cannot be told. Raises `KubeError` when the server gives no answer."""
    spec, namespace = component.spec, component.metadata.namespace
    running: Running | Problem = declared(spec)
    if spec.workload_ref is not None:
        running = await _workload(world, namespace, spec.workload_ref, named=bound(spec.target.values))
    if isinstance(running, Problem) and not isinstance(running, Unsettled):
        return running
    if not spec.inputs:
        return running
    read: Read = {}
    for kind, ref in keys_of(spec.inputs):
        if (kind, ref.name) not in read:
            read[kind, ref.name] = await _source(world, namespace, kind, ref.name)
    # A Secret's digest takes its time, on purpose.
    found = await asyncio.to_thread(
        resolve_inputs, spec.inputs, lambda kind, name: read[kind, name], namespace
    )
    return with_inputs(running, found)


async def _workload(world: World, namespace: str, ref: WorkloadRef, *, named: bool) -> Running | Problem:
    try:
        body = await _get(world, namespace, ref)
        pods = []
        if body is not None:
            # After the workload: Pods of a rollout that has begun meanwhile do not look like the whole.
            pods = await world.kube.list(PODS, namespace, label_selector=selector_of(body))
    except RefusedError as refused:
        return Problem(
            Reason.WORKLOAD_UNREADABLE,
            f"{ref.kind} {ref.name} and its Pods may not be read: {refused.message}; the chart's role has the rights",
            stalled=True,
        )
    return view_workload(ref, body, pods, world.clock(), named=named)


async def _get(world: World, namespace: str, ref: WorkloadRef) -> dict[str, Any] | None:
    try:
        match ref.kind:
            case WorkloadKind.DEPLOYMENT:
                return await world.kube.get(DEPLOYMENTS, namespace, ref.name)
            case WorkloadKind.STATEFUL_SET:
                return await world.kube.get(STATEFUL_SETS, namespace, ref.name)
            case WorkloadKind.DAEMON_SET:
                return await world.kube.get(DAEMON_SETS, namespace, ref.name)
    except NotFoundError:
        return None


async def _source(world: World, namespace: str, kind: str, name: str) -> dict[str, Any] | Problem | None:
    try:
        if kind == "Secret":
            return await world.kube.get(SECRETS, namespace, name)
        return await world.kube.get(CONFIGMAPS, namespace, name)
    except NotFoundError:
        return None
    except RefusedError as refused:
        right = "set the chart's rbac.secretInputs, " if kind == "Secret" else ""
        return Problem(
            Reason.INPUT_UNREADABLE,
            f"{kind} {name} may not be read: {refused.message}; {right}or take it out of inputs",
            stalled=True,
        )
