"""An incident as a vector, by feature hashing: the same text gives the same numbers on every machine.

The features are the symptom, the alert's name and each failing service, with the weights sqrt(.4), sqrt(.3) and
sqrt(.3 / n): the cosine of two incidents is then .4 [same symptom] + .3 [same alert] + .3 |A & B| / sqrt(|A| |B|), which
is never below the exact similarity of `engine.recall`, but for two features that fall onto one of the 128 places.
What is similar is therefore near, and the index can be asked for what is near.
"""

import hashlib
import math
from collections.abc import Collection

DIMENSION = 128
SYMPTOM, ALERT, SERVICES = 0.4, 0.3, 0.3


def embedding(symptom: str, alert: str, services: Collection[str]) -> list[float]:
    """`DIMENSION` numbers, none negative, never all zero."""
    vector = [0.0] * DIMENSION
    vector[_place("symptom", symptom)] += math.sqrt(SYMPTOM)
    vector[_place("alert", alert)] += math.sqrt(ALERT)
    distinct = sorted(set(services))
    for service in distinct:
        vector[_place("service", service)] += math.sqrt(SERVICES / len(distinct))
    return vector


def _place(kind: str, text: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{kind}\0{text}".encode()).digest()[:4]) % DIMENSION
