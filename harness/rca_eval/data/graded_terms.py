"""Graded incidents on a knife's edge: the weights, the measure of BARO, the memory and the cap decide by thousandths."""

from rca_eval.data.graded_changes import EARLY, LATE
from rca_eval.data.shapes import AFTER, BEFORE, WINDOW, Number, loud, samples, spread
from rca_eval.data.story import Happened, Service, Story

GATEWAY_DOWN = Story(
    "GT-02-rca-gateway-down-floor", "deploy/config", "mcp-gateway", "debug-agent", "RcaGatewayUnreachable",
    # The degraded one: no series, so the floor holds in Active too, and E2 is all the evidence there is.
    availability="degraded",
    services=(
        Service("mcp-gateway", 0.9, 0.9),
        # These two tie behind the cause. GT-04, which comes later, would name falkordb.
        Service("qdrant", 0.95, 0.7, before=None),
        Service("falkordb", 0.95, 0.7),
        # First under every other ratio of topology to errors than that of the floor; figures of four digits.
        Service("context-cache", 0.8293, 1.0),
        Service("debug-agent", 0.4, 0.97),
        # Not connected at all, looks worst, and was changed.
        Service("grafana", 0.97, 0.99),
    ),
    calls=("debug-agent > mcp-gateway qdrant context-cache", "mcp-gateway > falkordb debug-agent"),
    changes=(Happened("grafana", -300), Happened("falkordb", EARLY), Happened("falkordb", LATE)),
    traps=(("falkordb", "topologyTrap"), ("qdrant", "gradedTrap"), ("context-cache", "loudLeaf")),
)  # fmt: skip


def _graph_errors() -> dict[int, Number]:
    """z = 40 by its last sample alone; median .010, IQR .004, of an even number of samples with a gap in each."""
    usual = (0.005, 0.009, 0.011, 0.015)
    before: dict[int, Number] = {at: usual[nth % 4] for nth, at in enumerate(BEFORE[:28])}
    older: dict[int, Number] = {-WINDOW - 60 * nth: 0.06 for nth in range(1, 12)}
    return older | before | {at: 0.01 if at < 120 else 0.12 if at < 600 else 0.17 for at in AFTER}


FALKORDB_DOWN = Story(
    "GT-04-falkordb-down", "data/datastore", "falkordb", "debug-agent", "GraphQueryErrors",
    # Fails like GT-02, service by service, so a memory names mcp-gateway with half the weight that would make it first.
    services=(
        Service("falkordb", 0.9, 0.9, (samples("error_ratio", _graph_errors()),)),
        Service("mcp-gateway", 0.95, 0.55, (loud(12, 70),)),
        # One fortieth louder than the cause; and much louder later, when nobody looks any more.
        Service("qdrant", 0.95, 0.82, (spread(41, 0, {900: 0.9}),), before=None),
        Service("context-cache", 0.9, 0.72, (loud(6, 20),)),
        Service("debug-agent", 0.4, 0.97, (loud(28, 20),)),
        Service("grafana", 0.97, 0.99, (loud(50),)),
    ),
    calls=("debug-agent > mcp-gateway qdrant context-cache falkordb", "mcp-gateway > falkordb debug-agent"),
    changes=(Happened("mcp-gateway", EARLY), Happened("mcp-gateway", LATE)),
    traps=(("mcp-gateway", "topologyTrap"), ("qdrant", "gradedTrap"), ("context-cache", "gradedTrap")),
)  # fmt: skip

# A success ratio that falls; eight samples before the onset, as few as count, the first one in the window's first second.
UPLOADS = (0.98, 0.98, 0.985, 0.99, 0.99, 0.995, 0.995, 1.0)
_successes: dict[int, Number] = {
    **dict(zip(range(-WINDOW, -200, 200), UPLOADS, strict=True)),
    -30: 0.7,
    **dict.fromkeys(AFTER, 0.6525),
}

UPLOAD_FAIL = Story(
    "GT-06-upload-thumbnail-fail", "data/datastore", "archives-worker-infra", "archives-api", "UploadJobFailures",
    # Like GT-05 by symptom and half of the services: just not alike enough for a memory to name postgres.
    services=(
        # E3 alone speaks for it. The second metric is the louder one.
        Service(
            "archives-worker-infra", 0.9, 0.9, (loud(8, 70), samples("success_ratio", _successes)), before=None
        ),
        Service("postgres", 0.95, 0.72, (loud(12),), before=None),
        Service("object-store", 0.95, 0.8, (loud(24, 20),)),
        # Ahead wherever the louder metric of the cause is not seen in full.
        Service("thumbnailer", 0.8293, 1.0, (loud(29.9, 20), loud(12, 20, "latency_seconds"))),
        # It deviates in the same second as the cause, before the onset.
        Service("archives-api", 0.4, 0.97, (spread(5, 0, {-30: 0.2}),)),
        Service("nats", 0.3, 0.75),
        Service("qdrant", 0.3, 0.97),
    ),
    calls=(
        "archives-api > archives-worker-infra postgres nats",
        "archives-worker-infra > object-store thumbnailer qdrant",
        "thumbnailer > object-store",
    ),
    changes=(Happened("postgres", EARLY), Happened("postgres", LATE)),
    traps=(("postgres", "topologyTrap"), ("object-store", "gradedTrap"), ("thumbnailer", "loudLeaf")),
)  # fmt: skip

STORIES = (GATEWAY_DOWN, FALKORDB_DOWN, UPLOAD_FAIL)
