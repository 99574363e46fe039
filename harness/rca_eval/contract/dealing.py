"""How the cases of a dataset are dealt out to the shards of one evaluation. Pure; every shard computes the same.

A case is an incident in an arm. The two arms of an incident are dealt apart: in a shard with few cases they could be
joined otherwise. The order is that of an HMAC under the dataset's digest, which no engine knows, so that the number of a
shard tells nothing about what is in it. One round over both arms: every shard has as many cases as any other, give or
take one, and as many of each arm.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rca_eval.contract.errors import ContractError, Reason, shown

MAX_SHARDS = 64

type ArmCase = tuple[str, str]
"""Arm, incident id."""


@dataclass(frozen=True)
class Share:
    """Part `index` (from 0) of `count`."""

    index: int = 0
    count: int = 1

    @property
    def whole(self) -> bool:
        return self.count == 1

    def __str__(self) -> str:
        return f"shard {self.index + 1} of {self.count}"


WHOLE = Share()


def deal(dataset_sha256: str, cases: Iterable[ArmCase], count: int) -> dict[ArmCase, int]:
    """Case to the index of its shard, in [0, count). The order of `cases` is of no consequence."""
    ordered = sorted(cases, key=lambda case: (case[0], _place(dataset_sha256, case), case[1]))
    return {case: at % count for at, case in enumerate(ordered)}


def parse_share(env: Mapping[str, str]) -> Share:
    """From `RCA_EVAL_SHARDS` (absent: 1) and `RCA_EVAL_SHARD`, else `JOB_COMPLETION_INDEX`, as Kubernetes sets it in an
    Indexed Job. Raises `ContractError(EnvironmentInvalid)`.
    """
    count = _number(env, "RCA_EVAL_SHARDS", 1, MAX_SHARDS) if env.get("RCA_EVAL_SHARDS") else 1
    if count == 1:
        return WHOLE
    name = "RCA_EVAL_SHARD" if env.get("RCA_EVAL_SHARD") else "JOB_COMPLETION_INDEX"
    return Share(_number(env, name, 0, count - 1), count)


def _place(dataset_sha256: str, case: ArmCase) -> bytes:
    return hmac.new(dataset_sha256.encode(), f"shard/{case[0]}/{case[1]}".encode(), hashlib.sha256).digest()


def _number(env: Mapping[str, str], name: str, least: int, most: int) -> int:
    text = env.get(name, "")
    if text.isascii() and text.isdigit() and least <= int(text[:4]) <= most and len(text) < 5:
        return int(text)
    raise ContractError(
        Reason.ENVIRONMENT_INVALID,
        f"{name} is {shown(text)}; with RCA_EVAL_SHARDS set it must be a whole number from {least} to {most}.",
    )
