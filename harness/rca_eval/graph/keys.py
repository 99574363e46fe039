"""Which graph keys the harness may touch. It writes and deletes, so everything but its own prefix is refused."""

import re

from rca_eval.contract import ContractError, Reason, shown

LIVE_KEY = "bluerobin_stack"
PREFIX = "bluerobin_stack_eval"
_OWN = re.compile(rf"^{PREFIX}:[A-Za-z0-9][A-Za-z0-9._-]{{0,62}}:(ScorerOnly|LivePath|memory)$")


def graph_key(run: str, arm: str) -> str:
    """`bluerobin_stack_eval:<run>:<arm>`. Raises `ContractError(StoreKeyRefused)` for parts that do not fit."""
    return checked(f"{PREFIX}:{run}:{arm}")


def memory_key(name: str) -> str:
    """`bluerobin_stack_eval:<name>:memory`: past incidents, of a run or of an agent. Raises
    `ContractError(StoreKeyRefused)`.
    """
    return checked(f"{PREFIX}:{name}:memory")


def checked(key: str) -> str:
    """The key, if it is one of ours. The live graph and every foreign key raise
    `ContractError(StoreKeyRefused)`.
    """
    if _OWN.match(key) and "\n" not in key:
        return key
    whose = "is the live graph" if key == LIVE_KEY else "is not a graph of the harness"
    raise ContractError(
        Reason.STORE_KEY_REFUSED,
        f"the graph key {shown(key)} {whose}; only {PREFIX}:<run>:<arm or memory> may be written or deleted.",
    )
