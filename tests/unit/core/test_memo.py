"""What is kept of answers, beside threads that ask, too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from rca_rollout.core.memo import Memo


def test_the_newest_answers_are_kept_and_what_was_asked_for_last_stays() -> None:
    made: list[int] = []

    def make(key: int) -> int:
        made.append(key)
        return key

    memo: Memo[int] = Memo(2)
    for key in (1, 2, 1, 3, 1):
        assert memo.get(key, lambda key=key: make(key)) == key
    assert made == [1, 2, 3]
    memo.get(2, lambda: make(2))
    assert made == [1, 2, 3, 2]


def test_an_answer_that_another_thread_drops_between_two_looks_is_made_anew() -> None:
    memo: Memo[int] = Memo(1)
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(memo.get, at % 3, lambda at=at: at % 3) for at in range(20_000)]
        assert [each.result() for each in asked] == [at % 3 for at in range(20_000)]
