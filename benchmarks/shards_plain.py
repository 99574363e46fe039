"""An engine that ranks by error rate and asks no graph: for measuring what comes before and after an engine."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

KEY = "RcaLiveActivation.Mode"


def main() -> None:
    folder = Path(os.environ["RCA_EVAL_INCIDENTS"])
    manifest = json.loads((folder / "manifest.json").read_bytes())
    answers = [_answer(run, folder) for run in manifest["runs"]]
    document = {"protocol": 1, "engine": {"name": "plain", "version": "1"}, "predictions": answers}
    Path(os.environ["RCA_EVAL_OUTPUT"], "predictions.json").write_text(json.dumps(document))


def _answer(run: dict[str, Any], folder: Path) -> dict[str, Any]:
    begun = time.perf_counter()
    incident = json.loads((folder / run["incident"]).read_bytes())
    rows = incident["telemetry"]["services"].items()
    ranked = sorted(
        ((row.get("errorRate") or 0, key) for key, row in rows), key=lambda one: (-one[0], one[1])
    )
    candidates = [
        {"entity": key, "score": f"{rate:.9f}", "terms": {"tele": f"{rate:.9f}", "topo": "0.000000000"}}
        for rate, key in ranked
    ]
    active = run["modes"][KEY] == "Active"
    return {
        "variant": run["variant"],
        "arm": run["arm"],
        "case": run["case"],
        "candidates": candidates,
        "seconds": round(time.perf_counter() - begun, 9),
        **({} if active else {"wouldBe": {KEY: [one["entity"] for one in candidates]}}),
    }


if __name__ == "__main__":
    main()
