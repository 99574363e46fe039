"""Wrong plumbing of the modes: who is active, and what is written down as the would-be ranking."""

from rca_eval.selftest.mutant import Mutant

ACTIVE = "return modes.get(key) == ACTIVE"
KEYS = "return frozenset(key for key in KEYS if is_active(modes, key))"
GOVERN = "governing = pipeline.conclude(active)"
WOULD_BE = "pipeline.conclude(active | {key}).keys[:MAX_CANDIDATES] for key in KEYS if key not in active"


def _c(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "modes", "engine/components.py", old, new, imitates, equivalent, needs)


def _a(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "modes", "engine/answer.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _c("mode-inverted", ACTIVE, "return modes.get(key) != ACTIVE", "a comparison is turned round"),
    _c(
        "mode-unknown-is-active",
        ACTIVE,
        "return modes.get(key, SHADOW) != SHADOW",
        "whatever is not Shadow is active",
    ),
    _c(
        "mode-missing-is-active", ACTIVE, "return modes.get(key, ACTIVE) == ACTIVE", "a missing key is active"
    ),
    _c("mode-any-case", ACTIVE, 'return modes.get(key, "").lower() == "active"', "active in any spelling"),
    _c(
        "mode-blanks",
        ACTIVE,
        "return modes.get(key, '').strip() == ACTIVE",
        "blanks around the word are forgiven",
    ),
    _c(
        "mode-by-beginning",
        ACTIVE,
        'return modes.get(key, "").startswith(ACTIVE)',
        "whatever begins with Active is active",
    ),
    _c("mode-true-is-active", ACTIVE, 'return modes.get(key) in (ACTIVE, "true")', "true is active too"),
    _c("mode-never", ACTIVE, "return False", "nothing is ever active"),
    _c("mode-always", ACTIVE, "return True", "everything is always active"),
    _c("mode-any-key", ACTIVE, "return ACTIVE in modes.values()", "one active component activates all"),
    _c(
        "mode-key-misspelt",
        'LIVE_ACTIVATION = "RcaLiveActivation.Mode"',
        'LIVE_ACTIVATION = "RcaLiveActivation.mode"',
        "the key is misspelt",
    ),
    _c(
        "mode-keys-swapped",
        'EVIDENCE_CAP = "RcaEvidenceCap.Mode"\nMEMORY = "RcaMemory.Mode"',
        'EVIDENCE_CAP = "RcaMemory.Mode"\nMEMORY = "RcaEvidenceCap.Mode"',
        "two components read each other's key",
    ),
    _c(
        "mode-last-key-forgotten",
        KEYS,
        KEYS.replace("in KEYS", "in KEYS[:-1]"),
        "a loop ends before the last component",
    ),
    _c(
        "mode-first-key-only",
        KEYS,
        KEYS.replace("in KEYS", "in KEYS[:1]"),
        "only the first component has a mode",
    ),
    _a(
        "shadow-governs",
        GOVERN,
        "governing = pipeline.conclude(active | {KEYS[0]})",
        "the candidate governs although it is in Shadow",
    ),
    _a(
        "all-shadows-govern",
        GOVERN,
        "governing = pipeline.conclude(active | set(KEYS))",
        "every candidate governs although it is in Shadow",
    ),
    _a(
        "active-does-not-govern",
        GOVERN,
        "governing = pipeline.conclude(frozenset())",
        "the legacy path governs whatever the mode",
    ),
    _a(
        "would-be-is-governing",
        WOULD_BE,
        "governing.keys for key in KEYS if key not in active",
        "the governing ranking is copied as the would-be one",
    ),
    _a(
        "would-be-of-the-first",
        WOULD_BE,
        WOULD_BE.replace("{key}", "{KEYS[0]}"),
        "every component logs the first one's ranking",
    ),
    _a(
        "would-be-of-all",
        WOULD_BE,
        WOULD_BE.replace("{key}", "set(KEYS)"),
        "the would-be ranking has all components active",
    ),
    _a(
        "would-be-alone",
        WOULD_BE,
        WOULD_BE.replace("active | {key}", "{key}"),
        "the would-be ranking forgets the active siblings",
    ),
    _a(
        "would-be-backwards",
        WOULD_BE,
        WOULD_BE.replace(".keys[:", ".keys[::-1][:"),
        "the would-be ranking is upside down",
    ),
    _a(
        "would-be-first-only",
        WOULD_BE,
        WOULD_BE.replace("MAX_CANDIDATES", "1"),
        "only the first place is logged",
    ),
    _a("would-be-lost", "would_be=would_be or None", "would_be=None", "nothing is logged in Shadow"),
    _a(
        "would-be-last-lost",
        WOULD_BE,
        WOULD_BE.replace("in KEYS if", "in KEYS[:-1] if"),
        "the last component logs nothing",
    ),
)
