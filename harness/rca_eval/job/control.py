"""The positive control: our own investigation with a topology-heavy blend, over the same dataset.

A gate that lets this one through would let anything through, so every scorecard carries it.
"""

import os

from rca_eval.contract import Control, GroundTruth
from rca_eval.contract.dealing import WHOLE, Share
from rca_eval.engine import KNOWN_BAD, gather, rank
from rca_eval.engine.answer import entities
from rca_eval.graph import GraphStore, graph_key
from rca_eval.job.prepare import cases
from rca_eval.job.scoring import arm_results, ranked_result


def run_known_bad(
    truth: GroundTruth, dataset_sha256: str, store: GraphStore, share: Share = WHOLE
) -> Control:
    """The control's arms. Raises `ContractError(StoreUnavailable)`."""
    run = f"control-{os.getpid()}-{os.urandom(4).hex()}"
    work = cases(truth, dataset_sha256, share)
    results = {}
    for case in work:
        with store.incident(graph_key(run, case.arm), case.view) as graph:
            ranking = rank(gather(case.view, graph), KNOWN_BAD, use_baro=False)
        results[case.case] = ranked_result(case, entities(ranking), table=ranking.table.name)
    return Control(name="KnownBad", arms=arm_results(work, results))
