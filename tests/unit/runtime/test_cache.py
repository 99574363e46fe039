"""What the watched objects tell, however they are labelled."""

from __future__ import annotations

from rca_rollout.runtime.cache import Cache


def test_a_run_belongs_to_the_component_that_owns_it_even_if_its_label_is_gone() -> None:
    """Else it would be created again and again, met under its name each time, and never be seen."""
    metadata = {"name": "live-1", "namespace": "shop", "uid": "run", "ownerReferences": [{"uid": "mine"}]}
    cache = Cache()
    cache.bind(runs={("shop", "live-1"): [{"metadata": metadata}]})
    assert [run["metadata"]["name"] for run in cache.runs_of_component("shop", "mine")] == ["live-1"]
    assert cache.runs_of_component("shop", "another") == []
