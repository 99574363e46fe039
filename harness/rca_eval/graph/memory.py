"""The memory of past incidents, in FalkorDB, behind a vector index.

(PastIncident {key, resolvedAt, symptom, alert, services[], embedding1})-[:CAUSED_BY]->(Service {key})

The index finds what is near; how similar it is, is computed exactly by `engine.recall`. An embedded store forgets
with the process, a server keeps it. What gets in is confirmed: drafts and disputed labels must not be added.
"""

import time
from collections.abc import Collection, Iterable
from typing import Any

from rca_eval.contract import ContractError, PastIncident, Reason
from rca_eval.graph.embedding import DIMENSION, embedding
from rca_eval.graph.keys import checked
from rca_eval.graph.store import GraphStore

FIELD = "embedding1"  # another embedding is another field: vectors of two kinds must never be compared
FIRST_BATCH, LAST_BATCH, WIDER = 64, 4096, 4
NEAR_ENOUGH = 0.4  # cosine; safely below the similarity from which an incident is recalled, whatever words share a place
INDEX_SECONDS = 10

INDEXES = "CALL db.indexes() YIELD label, properties, status RETURN label, properties, status"
KEY_INDEX = "CREATE INDEX FOR (p:PastIncident) ON (p.key)"
VECTOR_INDEX = (
    f"CREATE VECTOR INDEX FOR (p:PastIncident) ON (p.{FIELD}) "
    f"OPTIONS {{dimension: {DIMENSION}, similarityFunction: 'cosine'}}"
)
ADD = (
    "UNWIND $rows AS r MERGE (p:PastIncident {key: r.key}) SET p.resolvedAt = r.resolvedAt, "
    f"p.symptom = r.symptom, p.alert = r.alert, p.services = r.services, p.{FIELD} = vecf32(r.vector) "
    "WITH p, r OPTIONAL MATCH (p)-[old:CAUSED_BY]->() DELETE old "
    "WITH DISTINCT p, r UNWIND r.causes AS c MERGE (s:Service {key: c}) MERGE (p)-[:CAUSED_BY]->(s)"
)
NEAREST = (
    f"CALL db.idx.vector.queryNodes('PastIncident', '{FIELD}', $k, vecf32($vector)) YIELD node, score "
    "MATCH (node)-[:CAUSED_BY]->(c:Service) RETURN node.key, node.resolvedAt, node.symptom, node.alert, "
    "node.services, collect(c.key), score"
)
FORGET = "MATCH (p:PastIncident) WHERE p.key IN $keys DELETE p"
COUNT = "MATCH (p:PastIncident) RETURN count(p)"


class IncidentMemory:
    """Past incidents in one graph of ours (`graph.memory_key`), which is made when it does not exist yet."""

    def __init__(self, store: GraphStore, key: str) -> None:
        """Raises `ContractError`: StoreKeyRefused, StoreUnavailable."""
        self._store = store
        self._key = checked(key)
        self._make_indexes()

    def add(self, rows: Iterable[PastIncident]) -> None:
        """Remember; a key that is known already is replaced."""
        values = [
            {
                "key": row.key,
                "resolvedAt": row.resolved_at,
                "symptom": row.symptom,
                "alert": row.alert,
                "services": sorted(set(row.services)),
                "causes": sorted(set(row.causes)),
                "vector": embedding(row.symptom, row.alert, row.services),
            }
            for row in rows
        ]
        if values:
            self._ask(ADD, rows=values)

    def forget(self, keys: Collection[str]) -> None:
        """Remove, e.g. because a label is disputed now; unknown keys are no error."""
        self._ask(FORGET, keys=sorted(keys))

    def __len__(self) -> int:
        return int(self._ask(COUNT)[0][0])

    def near(self, *, symptom: str, alert: str, services: Collection[str], before: int) -> list[PastIncident]:
        """What may be similar and was resolved before this time (Unix seconds, exclusive), sorted by key.

        Asks the index for more until what it adds is too far away to matter (at most `LAST_BATCH`).
        """
        vector, size = embedding(symptom, alert, services), FIRST_BATCH
        while True:
            rows = self._ask(NEAREST, k=size, vector=vector)
            farthest = max((float(row[-1]) for row in rows), default=0.0)  # 1 - cosine
            if len(rows) < size or farthest > 1 - NEAR_ENOUGH or size >= LAST_BATCH:
                break
            size *= WIDER
        found = [_past(row) for row in rows if int(row[1]) < before]
        return sorted(found, key=lambda row: row.key)

    def drop(self) -> None:
        """Delete the whole memory."""
        self._store.drop(self._key)

    def _make_indexes(self) -> None:
        fields = {name for _, names, _ in self._indexes() for name in names}
        if "key" not in fields:
            self._ask(KEY_INDEX)
        if FIELD not in fields:
            self._ask(VECTOR_INDEX)
        # Over nodes that exist already an index is filled in the background; until then it would miss some.
        deadline = time.monotonic() + INDEX_SECONDS
        while any(status != "OPERATIONAL" for *_, status in self._indexes()):
            if time.monotonic() > deadline:
                raise ContractError(
                    Reason.STORE_UNAVAILABLE,
                    f"the index of {self._key} is not ready after {INDEX_SECONDS} s; try again, or drop the graph.",
                )
            time.sleep(0.02)

    def _indexes(self) -> list[list[Any]]:
        return [row for row in self._ask(INDEXES) if row[0] == "PastIncident"]

    def _ask(self, statement: str, **parameters: Any) -> list[list[Any]]:
        return self._store.query(self._key, statement, parameters)


def _past(row: list[Any]) -> PastIncident:
    key, resolved_at, symptom, alert, services, causes, _ = row
    return PastIncident(
        key=key,
        resolved_at=resolved_at,
        symptom=symptom,
        alert=alert,
        services=tuple(services),
        causes=tuple(sorted(causes)),
    )
