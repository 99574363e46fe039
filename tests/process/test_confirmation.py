"""Replicas of a consumer are asked over real connections.

Aspects: the reference agent as it runs; strangers of every kind; nothing followed, nothing unbounded, nobody waited for; a
real Prometheus that scrapes what the agents tell.
"""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rca_testing.agents import agent
from rca_testing.consumers import (
    Behaviour,
    Consumer,
    body,
    compressed,
    consumers,
    dripping,
    endless,
    endless_head,
    loaded,
    raw,
    silent,
)
from rca_testing.exporter import Exporter, scraped
from rca_testing.lifecycle_world import modes_of
from rca_testing.mounted import Mounted

from hack import prometheus
from rca_eval.engine import KEYS
from rca_rollout.api.common import Mode
from rca_rollout.api.confirmation import HttpConfirmation, PodSelector, QueryConfirmation
from rca_rollout.core.confirming import Question, judge_values, read_modes
from rca_rollout.core.lifecycle.conditions import Subject
from rca_rollout.integrations.confirm import AT_ONCE, ReplicaError, Replicas
from rca_rollout.integrations.prometheus import Address, Prometheus

KEY = "RcaLiveActivation.Mode"
HTTP = HttpConfirmation(selector=PodSelector(match_labels={"app": "agent"}), port=8080)
ASKED = Question(
    Subject("live", "shop", KEY, "r1"),
    Mode.ACTIVE,
    "Active",
    datetime(2026, 11, 30, tzinfo=UTC),
    timedelta(minutes=5),
    HTTP,
)
BACK = dataclasses.replace(ASKED, mode=Mode.SHADOW, value="Shadow")


@asynccontextmanager
async def asking(**settings: Any) -> AsyncIterator[Replicas]:
    replicas = Replicas(**settings)
    try:
        yield replicas
    finally:
        await replicas.close()


async def said(behaviour: Behaviour, **settings: Any) -> str | None:
    """Why one replica of this behaviour has not confirmed, or None."""
    consumer = Consumer("127.0.0.2", behaviour)
    async with consumers(consumer) as port, asking(**settings) as replicas:
        try:
            return read_modes(await replicas.ask(consumer.address, port, "/modes"), ASKED)
        except ReplicaError as problem:
            return problem.message


async def test_the_reference_agent_confirms_what_it_has_loaded_and_nothing_else(tmp_path: Path) -> None:
    modes = Mounted(tmp_path / "modes", dict.fromkeys(KEYS, "Shadow"))
    with agent(tmp_path, "--source", "catalogue:graded", "--revision", "r7", ready=False) as running:
        port = int(running.url.rsplit(":", 1)[1])
        async with asking(timeout=60) as replicas:

            async def loaded_now(asked: Question) -> str | None:
                return read_modes(await replicas.ask("127.0.0.1", port, "/modes"), asked)

            assert await loaded_now(BACK) is None
            assert await loaded_now(ASKED) == "has loaded Shadow"
            modes.swap({**dict.fromkeys(KEYS, "Shadow"), KEY: "Active"})
            assert await loaded_now(ASKED) is None
            assert await loaded_now(BACK) == "has loaded Active"
            modes.swap({**dict.fromkeys(KEYS, "Shadow"), KEY: "Active@r6"})
            older = dataclasses.replace(ASKED, value="Active@r6")
            assert await loaded_now(older) == "has loaded Active@r6 and reads it as Shadow (OtherRevision)"
            newer = dataclasses.replace(ASKED, value="Active@r7")
            modes.swap({**dict.fromkeys(KEYS, "Shadow"), KEY: "Active@r7"})
            assert await loaded_now(newer) is None


GOOD = modes_of(KEY, "Active")


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (loaded(KEY, "Active"), None),
        (raw(b"HTTP/1.0 200 OK\r\n\r\n" + GOOD), None),
        (loaded(KEY, "Shadow"), "has loaded Shadow"),
        (body(b"page not found", "404 Not Found"), "answers /modes with HTTP 404"),
        (body(GOOD, "503 Service Unavailable"), "answers /modes with HTTP 503"),
        (body(GOOD, "302 Found", "Location: /elsewhere"), "answers /modes with HTTP 302"),
        (body(GOOD, "206 Partial Content"), "answers /modes with HTTP 206"),
        (compressed(KEY, "Active"), "answers compressed, unasked"),
        (endless, "answers with more than 256 KiB"),
        (endless_head, "does not speak HTTP as it should"),
        (raw(b""), "does not speak HTTP as it should"),
        (raw(b"SSH-2.0-OpenSSH_9.9\r\n"), "does not speak HTTP as it should"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + GOOD), "does not speak HTTP as it should"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" + GOOD), "does not speak HTTP as it should"),
        (body(b"<html>Sign in</html>"), "does not answer with JSON as the agent protocol has it"),
        (body(b" " * (256 << 10)), "does not answer with JSON as the agent protocol has it"),
        (body(GOOD[:-1] + b"," + GOOD[1:]), f"names {KEY} 2 times"),
    ],
)
async def test_a_stranger_is_told_in_a_sentence_and_confirms_by_the_one_right_answer(
    behaviour: Behaviour, words: str | None
) -> None:
    found = await said(behaviour, timeout=60)
    assert (found is None) == (words is None), found
    if words:
        assert found is not None
        assert words in found


@pytest.mark.parametrize("behaviour", [silent, dripping])
async def test_who_does_not_come_to_an_end_is_not_waited_for(behaviour: Behaviour) -> None:
    began = time.monotonic()
    assert await said(behaviour, timeout=0.5) == "did not answer within 0.5 s"
    assert time.monotonic() - began < 30


async def test_a_redirect_is_not_followed_and_a_cookie_is_not_kept() -> None:
    target = Consumer("127.0.0.3", loaded(KEY, "Active"))
    first = Consumer("127.0.0.2", raw(b""))
    async with consumers(target, first) as port, asking(timeout=60) as replicas:
        place = f"Location: http://127.0.0.3:{port}/modes"
        first.behaviour = body(b"", "307 Temporary Redirect", place, "Set-Cookie: a=b; Path=/")
        for _ in range(2):
            with pytest.raises(ReplicaError, match="HTTP 307"):
                await replicas.ask("127.0.0.2", port, "/modes")
    assert target.asked == []
    assert b"a=b" not in first.asked[1]


async def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert await said(loaded(KEY, "Active"), timeout=60) is None


async def test_nobody_there_and_no_address_are_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with asking(timeout=60) as replicas:
        with pytest.raises(ReplicaError, match=f"cannot be reached at port {port}"):
            await replicas.ask("127.0.0.1", port, "/modes")
        for address in ("", "agent.shop", "127.0.0.1:80", "127.0.0.1/x", "[::1]"):
            with pytest.raises(ReplicaError, match="has no address yet"):
                await replicas.ask(address, port, "/modes")


async def test_an_address_of_version_6_is_asked_too() -> None:
    consumer = Consumer("::1", loaded(KEY, "Active"))
    try:
        async with consumers(consumer) as port, asking(timeout=60) as replicas:
            assert read_modes(await replicas.ask("::1", port, "/modes"), ASKED) is None
    except OSError:
        pytest.skip("there is no IPv6 loopback here")
    assert b"[::1]" in consumer.asked[0]


async def test_many_at_a_time_share_no_more_connections_than_are_allowed() -> None:
    consumer = Consumer("127.0.0.2", loaded(KEY, "Active"))
    async with consumers(consumer) as port, asking(timeout=60) as replicas:
        answers = await asyncio.gather(*(replicas.ask("127.0.0.2", port, "/modes") for _ in range(60)))
    assert {read_modes(answer, ASKED) for answer in answers} == {None}
    assert consumer.most_at_once <= AT_ONCE


# -- Prometheus


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Exporter, prometheus.Server]]:
    with scraped() as both:
        yield both


QUERY = 'rca_mode_active{component="$(key)"} == bool $(wanted)'
FRESH = 'min by (pod) ((rca_mode_active{component="$(key)"} == bool $(wanted)) and (timestamp(rca_mode_active) > $(since)))'


def gauges(*values: str, key: str = KEY) -> str:
    lines = [
        f'rca_mode_active{{component="{key}",pod="agent-{n}"}} {value}' for n, value in enumerate(values)
    ]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("query", [QUERY, FRESH])
async def test_a_real_prometheus_says_whether_every_replica_has_loaded_the_mode(
    pair: tuple[Exporter, prometheus.Server], query: str
) -> None:
    exporter, server = pair
    client = Prometheus(Address(server.url), timeout=60)

    async def settled(asked: Question, complete: bool, confirmed: int, total: int) -> str:
        """A scrape takes its time."""
        for _ in range(1200):
            values = (await client.query(asked.query)).values
            answer = judge_values(asked, datetime.now(UTC), values)
            if (answer.complete, answer.confirmed, answer.total) == (complete, confirmed, total):
                return answer.sentence
            await asyncio.sleep(0.05)
        raise AssertionError(answer)

    active = dataclasses.replace(ASKED, how=QueryConfirmation(query=query, replicas=2))
    shadow = dataclasses.replace(active, mode=Mode.SHADOW, value="Shadow")
    try:
        exporter.text = gauges("0", "0") + gauges("1", key="Other.Mode")
        assert await settled(active, False, 0, 2)
        assert await settled(shadow, True, 2, 2)
        exporter.text = gauges("1", "0")
        assert "1 of 2" in await settled(active, False, 1, 2)
        exporter.text = gauges("1", "1")
        assert await settled(active, True, 2, 2)
        exporter.text = gauges("1", "1", "0")
        assert await settled(active, False, 2, 3)
        exporter.text = gauges("1")
        assert "only 1 series for 2 replicas" in await settled(active, False, 1, 2)
        exporter.text = gauges("NaN", "1")
        assert await settled(active, False, 1, 2)
        exporter.gone = True
        assert "the query found no series" in await settled(active, False, 0, 2)
        late = dataclasses.replace(active, since=datetime.now(UTC) + timedelta(hours=1))
        if query is FRESH:
            exporter.gone, exporter.text = False, gauges("1", "1")
            assert await settled(active, True, 2, 2)
            assert (await client.query(late.query)).values == ()
    finally:
        exporter.gone, exporter.text = False, ""
        await client.close()
