"""The seed profile: the original constants. The cause has .9/.9, two siblings of it .95/.55, the symptom no telemetry.

All margins are the same, so read it as one incident, nine times.
"""

from rca_eval.data.shapes import WINDOW, loud
from rca_eval.data.story import Happened, Service, Story

LAG = 20
CHANGES = {"GT-03-bad-deploy-archives-api": (-420, "Deploy"), "GT-07-bad-commit-web": (-WINDOW, "Change")}
ROWS = (
    ("GT-01-login-break", "auth/login", "authelia", "bluerobin-web", "LoginSuccessRateLow", "archives-api", "rag-chat"),
    ("GT-02-rca-gateway-down-floor", "deploy/config", "mcp-gateway", "debug-agent", "RcaGatewayUnreachable", "falkordb", "qdrant"),
    ("GT-03-bad-deploy-archives-api", "deploy/config", "archives-api", "bluerobin-web", "Http5xxRatioHigh", "authelia", "rag-chat"),
    ("GT-04-falkordb-down", "data/datastore", "falkordb", "debug-agent", "GraphQueryErrors", "mcp-gateway", "qdrant"),
    ("GT-05-postgres-meshed-reset", "data/datastore", "postgres", "archives-api", "DbConnectionResets", "authelia", "nats"),
    ("GT-06-upload-thumbnail-fail", "data/datastore", "archives-worker-infra", "archives-api", "UploadJobFailures", "postgres", "object-store"),
    ("GT-07-bad-commit-web", "deploy/config", "bluerobin-web", "ingress", "Http5xxRatioHigh", "authelia", "archives-api"),
    ("GT-08-rag-chat-down", "auth/login", "authelia", "rag-chat", "ChatErrorsHigh", "ollama", "qdrant"),
    ("GT-09-ollama-embeddings-down", "data/datastore", "ollama", "archives-worker-infra", "EmbeddingJobFailures", "postgres", "object-store"),
)  # fmt: skip


def _story(row: tuple[str, ...]) -> Story:
    id_, fault, cause, symptom, alert, trap, sibling = row
    offset, kind = CHANGES.get(id_, (0, ""))
    return Story(
        id_, fault, cause, symptom, alert,
        services=(
            Service(cause, 0.9, 0.9, (loud(30),)),
            Service(trap, 0.95, 0.55, (loud(12),)),  # as early as the cause, or the first to move were the answer
            Service(sibling, 0.95, 0.55, (loud(12, LAG),)),
            Service(symptom),
        ),
        calls=(f"{symptom} > {cause} {trap} {sibling}",),
        traps=((trap, "topologyTrap"), (sibling, "topologyTrap")),
        changes=(Happened(cause, offset, kind),) if kind else (),
        change_induced=bool(kind),
    )  # fmt: skip


STORIES = tuple(_story(row) for row in ROWS)
