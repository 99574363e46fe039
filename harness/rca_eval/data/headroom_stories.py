"""Headroom: what the legacy path loses today, and where a component can show benefit. Reported, and never gated by default.

| incidents | lost in Shadow because | found with |
|---|---|---|
| HR-01 to HR-07 | an innocent deploy on the trap counts as much as guilt | nothing yet |
| HR-08 | the rival is a little more critical, and hardly louder than usual | the BARO term |
| HR-09 | the rival has always failed, so nothing hard speaks for it | the verification gate, the cap |
| HR-10 | the rival failed minutes after the symptom, so it is refuted | hypotheses, the gate, the cap |
| HR-11 | the rival has one kind of evidence, the cause two | the cap alone |
| HR-13, HR-14 | the rival is a little worse; HR-12 was the same fault, and was found | the memory |
| HR-15 to HR-17 | the cause was hardly measured, or not at all | nothing yet |
"""

from rca_eval.data.shapes import loud
from rca_eval.data.story import Happened, Service, Story

COINCIDENT = (
    ("HR-01-login-break", "auth/login", "authelia", "bluerobin-web", "LoginSuccessRateLow", "archives-api"),
    ("HR-02-rca-gateway-down", "deploy/config", "mcp-gateway", "debug-agent", "RcaGatewayUnreachable", "falkordb"),
    ("HR-03-falkordb-down", "data/datastore", "falkordb", "graph-api", "GraphQueryErrors", "mcp-gateway"),
    ("HR-04-postgres-reset", "data/datastore", "postgres", "archives-api", "DbConnectionResets", "authelia"),
    ("HR-05-upload-fail", "data/datastore", "archives-worker-infra", "upload-api", "UploadJobFailures", "postgres"),
    ("HR-06-rag-chat-down", "auth/login", "authelia", "rag-chat", "ChatErrorsHigh", "ollama"),
    ("HR-07-embeddings-down", "data/datastore", "ollama", "archives-worker-infra", "EmbeddingJobFailures", "postgres"),
)  # fmt: skip


def _coincident(row: tuple[str, ...]) -> Story:
    """Somebody deployed the trap ten minutes before: no more than a coincidence, and the change term believes it."""
    id_, fault, cause, symptom, alert, trap = row
    return Story(
        id_, fault, cause, symptom, alert,
        services=(
            Service(cause, 0.9, 0.9, (loud(30),)),
            Service(trap, 0.95, 0.55, (loud(12),)),
            Service(symptom, 0.4, 0.97, (loud(28, 20),)),
        ),
        calls=(f"{symptom} > {cause} {trap}",),
        changes=(Happened(trap, -600),),
        traps=((trap, "coincidentChange"),),
    )  # fmt: skip


SLOW_SEARCH = Story(
    "HR-08-slow-search", "data/datastore", "qdrant", "search-api", "SearchSlow",
    services=(
        Service("qdrant", 0.9, 0.9, (loud(30),)),
        Service("ollama", 0.95, 0.88, (loud(6),)),  # .783 against .765, and a fifth as loud
        Service("search-api", 0.4, 0.97, (loud(28, 20),)),
    ),
    calls=("search-api > qdrant ollama",),
    traps=(("ollama", "gradedTrap"),),
)  # fmt: skip

ALWAYS_FAILING = Story(
    "HR-09-import-stalls", "network/dns", "nats", "import-worker", "ImportStalled",
    availability="degraded",
    services=(
        Service("nats", 0.9, 0.9),
        Service("legacy-importer", 0.95, 0.95, before=0.9),
        Service("import-worker", 0.4, 0.97),
    ),
    calls=("import-worker > nats legacy-importer",),
    traps=(("legacy-importer", "gradedTrap"),),
)  # fmt: skip

FOLLOWER = Story(
    "HR-10-queue-full", "data/datastore", "object-store", "media-api", "QueueFull",
    services=(
        Service("object-store", 0.9, 0.9, (loud(30),)),
        Service("thumbnailer", 0.95, 0.95, (loud(40, 250),)),
        Service("media-api", 0.4, 0.97, (loud(28, 20),)),
    ),
    calls=("media-api > object-store thumbnailer",),
    traps=(("thumbnailer", "loudLeaf"),),
)  # fmt: skip

ONE_KIND = Story(
    "HR-11-sync-errors", "network/dns", "mesh-proxy", "sync-api", "SyncErrors",
    services=(
        Service("mesh-proxy", 0.9, 0.9, (loud(30),)),
        Service("calendar-api", 0.95, 0.93, (loud(40, 70),)),  # too late for E3, too early for a contradiction
        Service("sync-api", 0.4, 0.97, (loud(28, 20),)),
    ),
    calls=("sync-api > mesh-proxy calendar-api",),
    traps=(("calendar-api", "loudLeaf"),),
)  # fmt: skip


def _quota(id_: str, errors: float, *, z: float, rival: float) -> Story:
    """One fault that comes back, each time less loud than what follows from it. Who has seen it once knows it again."""
    return Story(
        id_, "deploy/config", "quota-service", "billing-api", "BillingErrors",
        services=(
            Service("quota-service", 0.9, errors, (loud(z),)),
            Service("invoice-store", 0.95, 0.8, (loud(rival),)),
            Service("billing-api", 0.4, 0.97, (loud(28, 20),)),
        ),
        calls=("billing-api > quota-service invoice-store",),
        traps=(("invoice-store", "gradedTrap"),),
    )  # fmt: skip


QUOTAS = (
    _quota("HR-12-quota-exhausted", 0.9, z=30, rival=24),
    _quota("HR-13-quota-exhausted-again", 0.85, z=24, rival=30),
    _quota("HR-14-quota-exhausted-once-more", 0.84, z=24, rival=30),
)

NO_ERROR_RATIO = Story(
    "HR-15-mail-delayed", "data/datastore", "mail-relay", "notify-api", "MailDelayed",
    availability="degraded",
    services=(
        Service("mail-relay", 0.9),  # counts its errors nowhere
        Service("template-store", 0.95, 0.55),
        Service("notify-api", 0.4, 0.97),
    ),
    calls=("notify-api > mail-relay template-store",),
    traps=(("template-store", "topologyTrap"),),
)  # fmt: skip

SERIES_ONLY = Story(
    "HR-16-report-timeouts", "data/datastore", "warehouse", "report-api", "ReportTimeouts",
    availability="degraded",
    services=(
        Service("warehouse", None, None, (loud(60, 0, "latency_seconds"),)),  # only its latency was kept
        Service("authelia", 0.95, 0.55, (loud(12),)),
        Service("report-api", 0.4, 0.97),
    ),
    calls=("report-api > warehouse authelia",),
    traps=(("authelia", "topologyTrap"),),
)  # fmt: skip

UNSEEN = Story(
    "HR-17-certificate-expired", "auth/login", "cert-manager", "partner-api", "PartnerCallsFail",
    services=(
        Service("cert-manager"),  # no telemetry at all
        Service("partner-gateway", 0.95, 0.55, (loud(12),)),
        Service("partner-api", 0.4, 0.97, (loud(28, 20),)),
    ),
    calls=("partner-api > cert-manager partner-gateway",),
    traps=(("partner-gateway", "topologyTrap"),),
)  # fmt: skip

STORIES = (
    *(_coincident(row) for row in COINCIDENT),
    SLOW_SEARCH,
    ALWAYS_FAILING,
    FOLLOWER,
    ONE_KIND,
    *QUOTAS,
    NO_ERROR_RATIO,
    SERIES_ONLY,
    UNSEEN,
)
