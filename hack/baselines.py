"""Write the bundled baselines anew: `python -m hack.baselines [PROFILE ...]`, after a change of the incidents or the engine.

Each holds the AllShadow answers, and a reference for every other combination of the components' modes. What changed
is shown by git; whether it may change is a person's decision.
"""

from __future__ import annotations

import argparse
import sys
from itertools import combinations
from pathlib import Path

from rca_eval.contract import Scorecard, parse_baseline
from rca_eval.data import ALL_PROFILES, Profile, baseline_bytes, ground_truth_bytes
from rca_eval.engine import KEYS
from rca_eval.replay import Plan, from_scorecard, replay, to_text, variants, with_references

DATA = Path(__file__).resolve().parents[1] / "harness" / "rca_eval" / "data"


def measure(profile: Profile) -> list[Scorecard]:
    """A scorecard for each set of the other components: its Without and With are two of the combinations."""
    first, *others = KEYS
    found = []
    for size in range(len(others) + 1):
        for active in combinations(others, size):
            modes = {key: "Active" if key in active else "Shadow" for key in others}
            data = ground_truth_bytes(profile)
            found.append(replay(Plan(dataset=data, variants=variants(first, modes), source=profile)))
            print(f"{profile}: {len(found)} of 8", file=sys.stderr, flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m hack.baselines", description=__doc__)
    parser.add_argument("profiles", nargs="*", choices=[*ALL_PROFILES, []], help="default: all")
    for profile in parser.parse_args().profiles or ALL_PROFILES:
        path = DATA / f"baseline.{profile}.json"
        comment = parse_baseline(baseline_bytes(profile)).comment if path.exists() else ""
        cards = measure(profile)
        path.write_text(to_text(with_references(from_scorecard(cards[0], comment=comment), cards)), "utf-8")
        print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
