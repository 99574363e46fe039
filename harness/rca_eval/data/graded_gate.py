"""Graded incidents in which the evidence decides what Active may conclude: the loudest service is wrong in each of them."""

from rca_eval.data.graded_changes import EARLY, LATE
from rca_eval.data.shapes import AFTER, QUIET_RATIO, loud, spread
from rca_eval.data.story import Happened, Service, Story

LOGIN_BREAK = Story(
    "GT-01-login-break", "auth/login", "authelia", "bluerobin-web", "LoginSuccessRateLow",
    # The plain one, to begin reading with: a trap, and a rival that comes close.
    family="bluerobin-web",
    services=(
        Service("authelia", 0.9, 0.9, (loud(30),)),
        Service("archives-api", 0.95, 0.55, (loud(12),)),
        Service("rag-chat", 0.95, 0.8, (loud(24, 20),)),
        Service("bluerobin-web", 0.4, 0.97, (loud(28, 20),)),
    ),
    calls=("bluerobin-web > authelia archives-api rag-chat",),
    changes=(Happened("archives-api", EARLY), Happened("archives-api", LATE)),
    traps=(("archives-api", "topologyTrap"), ("rag-chat", "gradedTrap")),
)  # fmt: skip

POSTGRES_RESET = Story(
    "GT-05-postgres-meshed-reset", "data/datastore", "postgres", "archives-api", "DbConnectionResets",
    services=(
        # E3 alone speaks for it, and it comes back after five minutes.
        Service("postgres", 0.9, 0.9, (spread(30, 0, dict.fromkeys(AFTER[6:], QUIET_RATIO)),), before=None),
        Service("authelia", 0.95, 0.55, (loud(12),)),
        Service("nats", 0.95, 0.75, (loud(24, 70),)),
        Service("qdrant", 0.84, 0.97, (loud(24, 70),)),
        # BARO alone names it, and it has an own error ratio; but it came minutes after the symptom, so it is refuted.
        Service("object-store", 0.88, 0.88, (loud(90, 250),)),
        Service("archives-api", 0.4, 0.97, (loud(28, 20),)),
        Service("backup", 0.98, 0.45, (loud(95),)),  # a caller of what is called
    ),
    calls=("archives-api > postgres authelia nats qdrant object-store", "backup > postgres object-store"),
    changes=(Happened("authelia", EARLY), Happened("authelia", LATE)),
    traps=(
        ("authelia", "topologyTrap"),
        ("nats", "gradedTrap"),
        ("qdrant", "loudLeaf"),
        ("object-store", "loudLeaf"),
    ),
)  # fmt: skip

OLLAMA_DOWN = Story(
    "GT-09-ollama-embeddings-down", "data/datastore", "ollama", "archives-worker-infra", "EmbeddingJobFailures",
    # Error ratios of the models were recorded for the first time that day, so nothing hard speaks for anybody near the
    # top: the gate must end unverified, and leave the legacy ranking alone.
    services=(
        Service("ollama", 0.9, 0.9, (loud(30, 70),), before=None),  # three calls away
        # Minutes late, so they are refuted.
        Service("postgres", 0.95, 0.55, (loud(12, 250),), before=None),
        Service("object-store", 0.95, 0.65, (loud(24, 250),), before=None),
        Service("nats", 0.84, 0.97, (loud(24, 250),), before=None),
        Service("reranker", 0.88, 0.88, (loud(90, 100),), before=None),  # BARO alone names it
        Service("queue-worker", 0.55, 0.6, (loud(5, 20),)),  # hard evidence, far behind
        Service("archives-worker-infra", 0.35, 0.95, (loud(28, 20),)),
        # Scores that lie half-way between two numbers of nine digits, above an even one and above an odd one; and two
        # that are one number after rounding, and would be in another order before it.
        Service("embedder", 0.300000001, 0.3),
        Service("model-router", 0.300000003, 0.2),
        Service("batcher", 0.2, 0.3),
        Service("chunker", 0.2000000002, 0.3),
        Service("gpu-plugin", 0.97, 0.98, (loud(95),)),  # four calls away
    ),
    calls=(
        "archives-worker-infra > embedder postgres object-store nats queue-worker",
        "embedder > model-router reranker batcher chunker",
        "model-router > ollama",
        "ollama > gpu-plugin",
    ),
    changes=(Happened("postgres", EARLY), Happened("postgres", LATE)),
    traps=(
        ("postgres", "topologyTrap"),
        ("object-store", "gradedTrap"),
        ("nats", "loudLeaf"),
        ("reranker", "loudLeaf"),
    ),
)  # fmt: skip

STORIES = (LOGIN_BREAK, POSTGRES_RESET, OLLAMA_DOWN)
