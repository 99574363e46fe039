"""The bundled incidents: ground truth of three profiles, their baselines, and the JSON schema of a dataset."""

from importlib.resources import files
from typing import Literal

Profile = Literal["seed", "graded", "headroom"]
PROFILES: tuple[Profile, ...] = ("graded", "seed")
"""The gated ones: what is run where no profile is named."""
ALL_PROFILES: tuple[Profile, ...] = (*PROFILES, "headroom")
"""With headroom, which is reported on request: the legacy path loses most of it, and a component can show benefit."""
SCHEMA = "ground-truth.schema.json"


def ground_truth_bytes(profile: Profile) -> bytes:
    """The dataset of a profile, byte for byte as committed: its digest is part of every scorecard."""
    return files(__package__).joinpath(f"ground-truth.{profile}.json").read_bytes()


def baseline_bytes(profile: Profile) -> bytes:
    """The committed baseline of a profile: the reference engine with everything in Shadow."""
    return files(__package__).joinpath(f"baseline.{profile}.json").read_bytes()


def schema_bytes() -> bytes:
    """The JSON schema (2020-12) of ground truth, version 1."""
    return files(__package__).joinpath(SCHEMA).read_bytes()
