"""Graded incidents that a change caused, and one in which an innocent change stands in the window.

The change term is at most .15, and the change traps look worse than the causes in every other term.
"""

from rca_eval.data.shapes import AFTER, BEFORE, WINDOW, flat, loud, samples, spread
from rca_eval.data.story import Happened, Service, Story

MEG = 10**6
EARLY, LATE = -WINDOW - 1, 30  # one second before the window, and after the onset

BAD_DEPLOY = Story(
    "GT-03-bad-deploy-archives-api", "deploy/config", "archives-api", "bluerobin-web", "Http5xxRatioHigh",
    # Of the same family as GT-01, which a memory must therefore not know: it would name authelia.
    family="bluerobin-web",
    for_seconds=0,
    change_induced=True,
    services=(
        # Two kinds of evidence, E1 and E2: it fails five minutes late, which only its change excuses.
        Service("archives-api", 0.9, 0.9, (loud(30, 250),)),
        # Changed in the window and innocent; with the cause of GT-01 remembered it would lead.
        Service("authelia", 0.95, 0.68, (loud(12),)),
        # Louder than the cause in everything, and unchanged: only the change term keeps it behind.
        Service("rag-chat", 0.95, 0.95, (loud(33, 20),)),
        Service("bluerobin-web", 0.4, 0.97, (loud(28, 20),)),
        Service("session-store", 0.5, 0.4),
        Service("authelia-db", 0.6, 0.2),
    ),
    calls=(
        "bluerobin-web > archives-api authelia rag-chat",
        "archives-api > session-store",
        "authelia > session-store",
        "session-store > authelia-db",
    ),
    changes=(
        # In the second of the onset, the last one of the window; the commit and the rollout of it.
        Happened("archives-api", 0),
        Happened("archives-api", 0, "Change"),
        Happened("authelia", -900),
        Happened("rag-chat", EARLY),
        Happened("rag-chat", 1),
    ),
    traps=(("authelia", "coincidentChange"), ("rag-chat", "changeTrap")),
)  # fmt: skip

BAD_COMMIT = Story(
    "GT-07-bad-commit-web", "deploy/config", "bluerobin-web", "ingress", "Http5xxRatioHigh",
    for_seconds=300,
    change_induced=True,
    services=(
        Service("authelia", 0.95, 0.55, (loud(12),)),
        # E1 alone speaks for it. It is ahead of the change trap by less than half the change term.
        Service("bluerobin-web", 0.82, 0.86, (loud(12, 70),), before=None),
        Service("archives-api", 0.95, 0.95, (loud(33, 20),)),
        # Deployed three times: one kind of evidence, not three. Between the ratios of the onset and the BARO table.
        Service("rag-chat", 0.87, 0.7917, (loud(11, 70),), before=None),
        # Its name begins with that of the change trap; and it was changed.
        Service("archives-api-cache", 0.4, 0.2),
        # A changed service whose name is a part of others, before the cause in the alphabet.
        Service("api", 0.5, 0.3),
        # The loudest metric by far, of a service that hardly fails: constant before, and in bytes.
        Service("image-proxy", 0.5, 0.3, (flat("memory_bytes", 400 * MEG, 800 * MEG, 100),), before=None),
        Service("ingress", 0.4, 0.97, (loud(28, 20),)),
        Service("synthetic-monitor", 0.97, 0.99),
    ),
    calls=(
        "synthetic-monitor > ingress",
        "ingress > bluerobin-web authelia",
        "bluerobin-web > archives-api rag-chat image-proxy",
        "archives-api > archives-api-cache api",
    ),
    changes=(
        # The first second of the window, and nobody gave the commit a name.
        Happened("bluerobin-web", -WINDOW, "Change", named=False),
        Happened("api", -1500),
        Happened("archives-api-cache", -1200),
        Happened("rag-chat", -1100),
        Happened("rag-chat", -700),
        Happened("rag-chat", -200),
        Happened("ingress", -60, "Change"),
        Happened("archives-api", EARLY),
        Happened("authelia", 1),
    ),
    traps=(
        ("authelia", "topologyTrap"),
        ("archives-api", "changeTrap"),
        ("rag-chat", "coincidentChange"),
        ("image-proxy", "loudLeaf"),
    ),
)  # fmt: skip

_restarts = {at: nth // 4 for nth, at in enumerate((*BEFORE, *AFTER))}

CHAT_DOWN = Story(
    "GT-08-rag-chat-down", "auth/login", "authelia", "rag-chat", "ChatErrorsHigh",
    services=(
        # E4 alone speaks for it: it restarts more often than it did. Two calls away.
        Service("authelia", 0.9, 0.9, (loud(30), samples("restarts_total", _restarts)), before=None),
        Service("ollama", 0.95, 0.55, (loud(12, 20),)),
        Service("qdrant", 0.95, 0.78, (loud(24, 20),)),
        # BARO alone would name it, and nothing hard speaks for it: it has always failed, and began after the symptom.
        # In Shadow it ties with qdrant.
        Service("browser", 0.86, 0.9, (loud(90),), before=0.4),
        # Innocently deployed: a change in the window chooses the table, and is no guilt.
        Service("feature-flags", 0.45, 0.2),
        # Half a minute before the onset.
        Service("rag-chat", 0.4, 0.97, (spread(28, 0, {-30: 0.2}),)),
        # No error ratio, no criticality, nothing at all: each would lead if what is absent counted 1.
        Service("session-api", 0.9),
        Service("profile-api", None, 0.9),
        Service("mailer"),
    ),
    calls=(
        "rag-chat > session-api ollama qdrant browser feature-flags",
        "session-api > authelia profile-api",
        "authelia > feature-flags mailer",
    ),
    changes=(Happened("feature-flags", -600), Happened("ollama", EARLY), Happened("ollama", LATE)),
    traps=(
        ("ollama", "topologyTrap"),
        ("qdrant", "gradedTrap"),
        ("browser", "loudLeaf"),
        ("feature-flags", "coincidentChange"),
    ),
)  # fmt: skip

STORIES = (BAD_DEPLOY, BAD_COMMIT, CHAT_DOWN)
