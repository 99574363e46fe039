"""The client against a real Prometheus that scrapes what the test says.

Aspects: what is a value and what is none; whose fault a failure is, in Prometheus' own words; nothing unbounded, nothing followed;
decisions are counted over resets; readings are gathered beside everything else.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from rca_testing import samples
from rca_testing.exporter import Exporter, scraped

from hack import prometheus
from rca_rollout.api import InvalidSpec, RcaComponent, parse
from rca_rollout.core.lifecycle.live import DECISIONS, Question, questions
from rca_rollout.integrations.prometheus import MOST_SERIES, Address, Fault, Prometheus, QueryError
from rca_rollout.runtime.queue import Key, WorkQueue
from rca_rollout.runtime.readings import Gatherer

KEY = Key("RcaComponent", "shop", "live")
OUTCOMES = ("agree", "disagree", "error", "timeout")


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Exporter, prometheus.Server]]:
    with scraped() as both:
        yield both


@pytest.fixture
def exporter(pair: tuple[Exporter, prometheus.Server]) -> Iterator[Exporter]:
    yield pair[0]
    pair[0].text, pair[0].gone, pair[0].odd = "", False, (404, {}, b"404 page not found")


@pytest.fixture
def server(pair: tuple[Exporter, prometheus.Server]) -> prometheus.Server:
    return pair[1]


@asynccontextmanager
async def client(url: str, timeout: float = 10, **more: str) -> AsyncIterator[Prometheus]:  # noqa: ASYNC109 - the client's own
    found = Prometheus(Address(url, **more), timeout=timeout)
    try:
        yield found
    finally:
        await found.close()


async def until(asked: Prometheus, query: str, wanted: set[str], within: float = 60) -> None:
    """Polls: a scrape takes its time on a busy machine."""
    end = time.monotonic() + within
    while (found := set((await asked.query(query)).values)) != wanted:
        assert time.monotonic() < end, f"{query} is {found}, not {wanted}"
        await asyncio.sleep(0.05)


async def refusal(url: str, query: str = "up", **more: str) -> QueryError:
    async with client(url, **more) as asked:
        with pytest.raises(QueryError) as caught:
            await asked.query(query)
        return caught.value


async def test_scalars_and_vectors_have_values_as_prometheus_writes_them(
    exporter: Exporter, server: prometheus.Server
) -> None:
    exporter.text = 'one{a="x"} 0.25\none{a="y"} 1e6\n'
    async with client(server.url) as asked:
        await until(asked, "one", {"0.25", "1000000"})
        assert (await asked.query("1 + 1")).values == ("2",)
        assert (await asked.query("one > 5e6")).values == ()
        assert (await asked.query("never_heard_of")).values == ()
        assert (await asked.query("1 / 0")).values == ("+Inf",)
        assert (await asked.query("-1e-9 / 3")).values == ("-0.00000000033333333333333337",)
        assert [Decimal(value) for value in (await asked.query("1e300")).values] == [Decimal("1e300")]


async def test_nan_is_told_as_nan(exporter: Exporter, server: prometheus.Server) -> None:
    exporter.text = "odd NaN\n"
    async with client(server.url) as asked:
        await until(asked, "odd", {"NaN"})


async def test_a_target_that_is_gone_leaves_no_value(exporter: Exporter, server: prometheus.Server) -> None:
    exporter.text = "there 1\n"
    async with client(server.url) as asked:
        await until(asked, "there", {"1"})
        exporter.gone = True
        await until(asked, "there", set())


async def test_the_query_s_fault_is_told_in_prometheus_own_words(server: prometheus.Server) -> None:
    wrong = await refusal(server.url, "sum(")
    assert wrong.fault is Fault.QUERY
    assert "parse error" in wrong.message
    twice = await refusal(
        server.url, "vector(1) * on() group_left() (vector(1) or label_replace(vector(2),'a','b','',''))"
    )
    assert twice.fault is Fault.QUERY


@pytest.mark.parametrize(("query", "words"), [("up[1m]", "avg_over_time"), ("'text'", "gives a text")])
async def test_what_is_no_number_is_refused_with_a_sentence(
    server: prometheus.Server, query: str, words: str
) -> None:
    wrong = await refusal(server.url, query)
    assert wrong.fault is Fault.QUERY
    assert words in wrong.message


async def test_more_series_than_a_person_would_look_at_are_refused(
    exporter: Exporter, server: prometheus.Server
) -> None:
    exporter.text = "".join(f'many{{n="{n}"}} 1\n' for n in range(MOST_SERIES + 1))
    async with client(server.url) as asked:
        await until(asked, "count(many)", {str(MOST_SERIES + 1)})
    assert f"gives {MOST_SERIES + 1} series" in (await refusal(server.url, "many")).message


async def test_nobody_there_is_the_server_s_fault() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    wrong = await refusal(f"http://127.0.0.1:{port}")
    assert wrong.fault is Fault.SERVER
    assert wrong.message.startswith("Prometheus cannot be reached")


async def test_a_prometheus_that_hangs_is_not_waited_for(server: prometheus.Server) -> None:
    server.process.send_signal(signal.SIGSTOP)
    try:
        async with client(server.url, timeout=0.5) as asked:
            with pytest.raises(QueryError, match=r"did not answer within 0\.5 s") as caught:
                await asked.query("up")
        assert caught.value.fault is Fault.SERVER
    finally:
        server.process.send_signal(signal.SIGCONT)
    async with client(server.url) as asked:
        assert (await asked.query("1")).values == ("1",)


async def test_one_that_asks_who_we_are_is_an_access_problem(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("abc\n")
    with scraped(locked=True) as (_, server):
        for more in ({}, {"token_file": str(token)}):
            wrong = await refusal(server.url, **more)
            assert wrong.fault is Fault.ACCESS
            assert "HTTP 401" in wrong.message


async def test_the_token_is_read_anew_for_every_query(exporter: Exporter, tmp_path: Path) -> None:
    token = tmp_path / "token"
    exporter.odd = (
        200,
        {},
        json.dumps({"status": "success", "data": {"resultType": "scalar", "result": [0, "1"]}}).encode(),
    )
    async with client(f"http://{exporter.address}", token_file=str(token)) as asked:
        for text in ("first\n", "second\n"):
            token.write_text(text)
            await asked.query("up")
        token.unlink()
        with pytest.raises(QueryError, match="cannot be read: mount it"):
            await asked.query("up")
    assert [headers["Authorization"] for headers in exporter.asked[-2:]] == ["Bearer first", "Bearer second"]


@pytest.mark.parametrize(
    ("status", "headers", "body", "fault", "words"),
    [
        (404, {}, b"404 page not found", Fault.ACCESS, "no query API of Prometheus"),
        (
            302,
            {"Location": "http://elsewhere.example/"},
            b"",
            Fault.ACCESS,
            "redirects to http://elsewhere.example/",
        ),
        (200, {}, b"<html>Sign in</html>", Fault.ACCESS, "not of Prometheus' query API"),
        (200, {}, b"[]", Fault.ACCESS, "not of Prometheus' query API"),
        (200, {}, b'{"status":"success"}', Fault.SERVER, "a type that its API does not have"),
        (200, {}, b" " * (1 << 20) + b"{}", Fault.QUERY, "larger than 1 MiB"),
        (429, {"Retry-After": "30"}, b"", Fault.SERVER, "HTTP 429"),
        (
            503,
            {},
            b'{"status":"error","error":"query timed out"}',
            Fault.SERVER,
            "(HTTP 503): query timed out",
        ),
        (502, {}, b"<html>bad gateway</html>", Fault.SERVER, "HTTP 502"),
        (403, {}, b"", Fault.ACCESS, "HTTP 403"),
        (
            200,
            {},
            b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[0,{}]}]}}',
            Fault.QUERY,
            "gives a histogram",
        ),
    ],
)
async def test_every_other_answer_is_a_sentence_and_never_a_number(
    exporter: Exporter, status: int, headers: dict[str, str], body: bytes, fault: Fault, words: str
) -> None:
    exporter.odd = (status, headers, body)
    wrong = await refusal(f"http://{exporter.address}")
    assert wrong.fault is fault
    assert words in wrong.message
    assert wrong.retry_after == float(headers.get("Retry-After", 0))


async def test_warnings_are_handed_on(exporter: Exporter) -> None:
    data = {"resultType": "vector", "result": [{"metric": {}, "value": [0, "3"]}]}
    exporter.odd = (
        200,
        {},
        json.dumps({"status": "success", "data": data, "warnings": ["a store is down"]}).encode(),
    )
    async with client(f"http://{exporter.address}") as asked:
        answer = await asked.query("x")
    assert (answer.values, answer.warnings) == (("3",), ("a store is down",))


def decisions(namespace: str | None = "default", **outcomes: int) -> str:
    label = f',namespace="{namespace}"' if namespace else ""
    return "".join(
        f'rca_shadow_decisions_total{{component="RcaLiveActivation.Mode",outcome="{name}"{label}}} {outcomes.get(name, 0)}\n'
        for name in OUTCOMES
    )


async def test_decisions_are_counted_over_resets_and_only_those_of_this_component(
    exporter: Exporter, server: prometheus.Server
) -> None:
    began = datetime.now(UTC) - timedelta(seconds=60)
    body = samples.stored(samples.minimal("RcaComponent", "live"))
    body["status"] = {
        "observedGeneration": 1,
        "observation": {"beganAt": began.isoformat(), "startedAt": began.isoformat()},
    }
    component = parse(RcaComponent, body)
    assert not isinstance(component, InvalidSpec)
    (asked_for,) = questions(component)
    assert asked_for.name == DECISIONS
    others = decisions("staging", agree=900)
    last = (
        'rca_shadow_decisions_total{component="RcaLiveActivation.Mode",outcome="agree",namespace="default"}'
    )
    async with client(server.url) as asked:
        for agree, disagree in ((0, 0), (40, 10), (0, 0), (30, 20)):  # the third is a new process
            exporter.text = others + decisions(agree=agree, disagree=disagree, error=500, timeout=500)
            await until(asked, last, {str(agree)})
        found = (await asked.query(asked_for.text(datetime.now(UTC)))).values
    # 40 + 10 before the reset, 30 + 20 after it. `increase` may stretch that a little to the edges of its window.
    assert len(found) == 1
    assert 100 <= Decimal(found[0]) <= 115


# -- gathering


def question(name: str = "one", query: str = "vector(1)", seconds: int = 60) -> Question:
    return Question(name, query, timedelta(seconds=seconds))


@asynccontextmanager
async def gathering(url: str, timeout: float = 10) -> AsyncIterator[tuple[Gatherer, WorkQueue]]:  # noqa: ASYNC109
    queue = WorkQueue(time.monotonic)
    async with client(url, timeout) as asked:
        gatherer = Gatherer(asked, queue, lambda: datetime.now(UTC))
        try:
            yield gatherer, queue
        finally:
            await gatherer.close()


async def woken(queue: WorkQueue) -> Key | None:
    async with asyncio.timeout(30):
        key = await queue.take()
    if key:
        queue.done(key)
    return key


async def test_answers_wake_the_component_up_and_are_asked_for_again_when_they_are_due(
    server: prometheus.Server,
) -> None:
    async with gathering(server.url) as (gatherer, queue):
        asked = [question(), question("bad", "sum("), question("none", "never_heard_of")]
        assert gatherer.look(KEY, "u1", asked) == {}
        assert await woken(queue) == KEY
        found = gatherer.look(KEY, "u1", asked)
        assert found["one"].values == ("1",)
        assert found["one"].query == "vector(1)"
        assert "parse error" in (found["bad"].problem or "")
        assert (found["none"].values, found["none"].problem) == ((), None)
        assert gatherer.look(KEY, "u1", asked) == found  # nothing is due
        assert queue.depth == 0
        again = [question(seconds=0)]
        gatherer.look(KEY, "u1", again)
        await woken(queue)
        assert gatherer.look(KEY, "u1", [question()])["one"].at > found["one"].at


async def test_nothing_waits_for_a_prometheus_that_hangs(server: prometheus.Server) -> None:
    server.process.send_signal(signal.SIGSTOP)
    try:
        async with gathering(server.url, timeout=0.5) as (gatherer, queue):
            began = time.monotonic()
            many = [question(f"q{n}") for n in range(16)]
            for number in range(20):
                assert gatherer.look(Key("RcaComponent", "shop", f"c{number}"), "u", many) == {}
            assert time.monotonic() - began < 0.4
            assert await woken(queue)
            found = gatherer.look(Key("RcaComponent", "shop", "c0"), "u", many)
            assert {reading.problem for reading in found.values()} == {
                "Prometheus did not answer within 0.5 s"
            }
    finally:
        server.process.send_signal(signal.SIGCONT)


async def test_a_changed_question_and_another_object_of_that_name_begin_anew(
    server: prometheus.Server,
) -> None:
    async with gathering(server.url) as (gatherer, queue):
        gatherer.look(KEY, "u1", [question()])
        await woken(queue)
        assert gatherer.look(KEY, "u1", [question(query="vector(2)")]) == {}
        await woken(queue)
        assert gatherer.look(KEY, "u1", [question(query="vector(2)")])["one"].values == ("2",)
        assert gatherer.look(KEY, "u2", [question(query="vector(2)")]) == {}
        gatherer.forget(KEY)
        assert gatherer.look(KEY, "u2", ()) == {}
