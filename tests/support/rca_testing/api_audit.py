"""What must hold of everything that an operator has sent, whatever went wrong on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from rca_testing.api_world import ApiWorld
from rca_testing.wire import Sent


def violations(world: ApiWorld) -> Iterator[str]:
    """A sentence each; none where all is well."""
    yield from _unproven(world)
    yield from _doubles(world)


def _unproven(world: ApiWorld) -> Iterator[str]:
    """The key is set to Active only behind an intent, with as many passing runs as it takes."""
    status: dict[str, object] = {}
    for sent in world.wire.writes():
        if sent.what == "update rcacomponents/status":
            status = sent.written.get("status") or {}
        elif sent.what == "patch configmaps" and _sets(sent) == "Active":
            evidence, intent = status.get("evidence"), status.get("intent")
            passing = evidence.get("passing", 0) if isinstance(evidence, dict) else 0
            if not intent or passing < 2:
                yield f"the key was set to Active with {passing} passing runs and the intent {intent}"


def _doubles(world: ApiWorld) -> Iterator[str]:
    place = world.place
    runs = place.list("EvalRun")
    jobs = Counter(job["metadata"]["ownerReferences"][0]["uid"] for job in place.list("Job"))
    for run in runs:
        name, attempts = run["metadata"]["name"], (run.get("status") or {}).get("attempts", 0)
        if jobs[run["metadata"]["uid"]] > attempts:
            yield f"{name}: {jobs[run['metadata']['uid']]} Jobs for {attempts} attempts"
    for component in place.list("RcaComponent"):
        started = (component.get("status") or {}).get("runsStarted", 0)
        ours = [
            run
            for run in runs
            if any(
                o["uid"] == component["metadata"]["uid"] for o in run["metadata"].get("ownerReferences") or []
            )
        ]
        if len(ours) > started:
            yield f"{component['metadata']['name']}: {len(ours)} EvalRuns for {started} that were started"
    yield from (
        f"{what} {name} was done {count} times"
        for (what, name), count in Counter(_made(world.wire.writes())).items()
        if count > 1
    )


def _made(writes: Iterable[Sent]) -> Iterator[tuple[str, str]]:
    for sent in writes:
        if sent.what in ("create evalruns", "create jobs", "create configmaps") and sent.status == 201:
            yield sent.what, sent.written["metadata"]["name"]


def _sets(sent: Sent) -> object:
    return next((each.get("value") for each in sent.written if each.get("op") != "test"), None)
