"""Write the ground-truth files from tables: `python -m rca_eval.data.catalogue FOLDER`.

The nine incidents of `seed` and `graded` are the project's simulation catalogue; `headroom` has incidents that the legacy
path loses. What each incident is there to show stands beside it in the stories.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from rca_eval.data import (
    ALL_PROFILES,
    graded_changes,
    graded_gate,
    graded_terms,
    headroom_stories,
    seed_stories,
)
from rca_eval.data.shapes import WINDOW
from rca_eval.data.story import DAY, FIRST_ONSET, Story

GRADED = tuple(
    sorted((*graded_changes.STORIES, *graded_gate.STORIES, *graded_terms.STORIES), key=lambda one: one.id)
)
STORIES: dict[str, tuple[Story, ...]] = {
    "seed": seed_stories.STORIES,
    "graded": GRADED,
    "headroom": headroom_stories.STORIES,
}
COMMENTS = {
    "seed": "The original constants. Every margin is the same: read it as one incident, nine times.",
    "headroom": "Not gated. Innocent deploys, repeats and weak telemetry: the legacy path loses most, and components can show benefit.",
    "graded": "Rivals at different margins; decoy deploys at the edges of the window; GT-03 and GT-07 need the change term.",
}


_SAMPLE = re.compile(r"\[\s+(\d+),\s+(null|-?[\d.]+)\s+\]")


def dataset(profile: str) -> dict[str, Any]:
    """The ground truth of a profile as JSON values."""
    return {
        "schemaVersion": 1,
        "windowSeconds": WINDOW,
        "profile": profile,
        "_comment": COMMENTS[profile],
        "incidents": [one.incident(FIRST_ONSET + DAY * at) for at, one in enumerate(STORIES[profile])],
    }


def text(profile: str) -> str:
    """The file's text: stable, one field and one sample a line, so that a change reads well in a diff."""
    return _SAMPLE.sub(r"[\1, \2]", json.dumps(dataset(profile), indent=1)) + "\n"


def main(folder: str) -> None:
    for profile in ALL_PROFILES:
        (Path(folder) / f"ground-truth.{profile}.json").write_text(text(profile), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
