"""Which candidates an incident offers: the denominator of chance. Pure."""

from rca_eval.contract.groundtruth import GroundTruth, Incident

HOPS = 3  # as far as the investigation looks


def candidate_pools(truth: GroundTruth) -> dict[str, frozenset[str]]:
    """Incident id to the services that its alert's service is or calls, over at most three calls, for `describe_arm`.

    The live path's candidates: an engine may name any service, but a random order of these is the harder
    chance to beat. Incidents without an alert or a topology are left out, so that chance is not guessed.
    """
    return {one.id: reach for one in truth.incidents if (reach := _reach(one)) is not None}


def _reach(incident: Incident) -> frozenset[str] | None:
    if incident.alert is None or incident.topology is None:
        return None
    found = {incident.alert.service}
    for _ in range(HOPS):
        found |= {callee for caller, callee in incident.topology.calls if caller in found}
    return frozenset(found)
