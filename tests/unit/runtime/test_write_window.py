"""The write of a mode and the life of the intent behind it: two numbers in two places that must fit."""

from datetime import timedelta

from rca_rollout.core.lifecycle.promotion import INTENT_LIFE
from rca_rollout.kube.client import REQUEST_TIMEOUT


def test_an_intent_outlives_the_slowest_write_that_it_allows_with_time_to_send_it() -> None:
    assert timedelta(seconds=2 * REQUEST_TIMEOUT) <= INTENT_LIFE
