"""A whole root-cause engine in a few plain lines, to show what an evaluation asks of an image: read
$RCA_EVAL_INCIDENTS/manifest.json, rank the candidates of every run in it, write $RCA_EVAL_OUTPUT/predictions.json.
Nothing of rca-rollout is imported; the standard library is enough, and any language would do."""

import json
import os
import time
from decimal import Decimal
from pathlib import Path

HISTORY = Decimal("0.5")  # this engine remembers nothing, so every service starts even
KEY = "RcaTopologyBoost.Mode"  # the component under test


def reachable(calls, start, hops=3):
    """The service that alerts and what it calls, directly or through others: the cause is among them."""
    found = {start}
    for _ in range(hops):
        found |= {callee for caller, callee in calls if caller in found}
    return found


def rank(incident, modes):
    """Candidates with scores, best first; equal scores by name, so that two runs agree to the byte."""
    alert = incident["alert"]
    onset = alert["firedAt"] - alert["forSeconds"]
    candidates = reachable(incident["topology"]["calls"], alert["service"])
    window = range(onset - incident["windowSeconds"], onset + 1)  # both ends count
    changed = {change["service"] for change in incident["changes"] if change["at"] in window} & candidates
    # The component under test: when it is Active, being important outweighs being broken, or having been changed.
    if modes.get(KEY) == "Active":
        weights = ("0.75", "0.10", "0.15", "0")
    else:
        weights = ("0.40", "0.30", "0.15", "0.15") if changed else ("0.50", "0.35", "0.15", "0")
    topology, telemetry, history, change = map(Decimal, weights)
    scores = {}
    for service in candidates:
        seen = incident["telemetry"]["services"].get(service, {})
        score = topology * (seen.get("criticality") or 0) + telemetry * (seen.get("errorRate") or 0)
        score += history * HISTORY + change * (service in changed)
        scores[service] = score.quantize(Decimal("1e-9"))
    best_first = sorted(scores, key=lambda service: (-scores[service], service))
    return [{"entity": service, "score": str(scores[service])} for service in best_first]


incidents, output = Path(os.environ["RCA_EVAL_INCIDENTS"]), Path(os.environ["RCA_EVAL_OUTPUT"])
predictions = []
for run in json.loads((incidents / "manifest.json").read_text())["runs"]:
    incident = json.loads((incidents / run["incident"]).read_text(), parse_float=Decimal)
    began = time.perf_counter()
    answer = {"variant": run["variant"], "arm": run["arm"], "case": run["case"]}
    answer["candidates"] = rank(incident, run["modes"])
    answer["seconds"] = round(time.perf_counter() - began, 6)
    shadow = [key for key, mode in run["modes"].items() if mode != "Active"]
    active = {key: rank(incident, {**run["modes"], key: "Active"}) for key in shadow}
    # What it would rank with each of them Active is written down, and governs nothing.
    answer["wouldBe"] = {key: [one["entity"] for one in ranking] for key, ranking in active.items()}
    predictions.append(answer)
engine = {"name": "plain", "version": "1"}
(output / "predictions.json").write_text(json.dumps({"protocol": 1, "engine": engine, "predictions": predictions}))
