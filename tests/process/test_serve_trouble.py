"""The agent in trouble: hostile and slow clients, a store that hangs or dies, a bad start, a stop.

Aspects: problems instead of tracebacks, limits of size, time and number, readiness, exit statuses, two agents on one
database, passwords.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from rca_testing import databases
from rca_testing.agents import DEADLINE, RunningAgent, agent, firing, stores, wait_until, webhook
from rca_testing.mounted import Mounted

from rca_eval.cli.main import run as run_command
from rca_eval.kpis import open_lifecycles

ALERT = ("GraphQueryErrors", "debug-agent")
INCIDENT = {
    "protocol": 1,
    "case": "case-00000001",
    "windowSeconds": 1800,
    "alert": {"name": "A", "service": "web", "firedAt": 1700000000},
    "topology": {"services": [{"key": "web"}], "calls": []},
    "telemetry": {"availability": "full", "services": {}},
    "changes": [],
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningAgent]:
    folder = tmp_path_factory.mktemp("trouble")
    Mounted(folder / "modes", {})
    with agent(folder, "--body-timeout", "1", "--max-body", "20000") as found:
        yield found


def is_problem(answer: httpx.Response, status: int) -> bool:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    body = answer.json()
    assert answer.status_code == body["status"] == status, answer.text
    assert body["detail"].endswith(".")
    assert "Traceback" not in answer.text
    return True


def notice(**changes: Any) -> bytes:
    return json.dumps({**webhook(firing(*ALERT)), **changes}).encode()


BAD = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"\xff\xfe",
    b"NaN",
    b'{"a": 1, "a": 2}',
    b"[" * 10000,
    b'{"version": "4", "alerts": []}',
    b'{"version": "4", "alerts": {"a": 1}}',
    notice(version="3"),
    notice(alerts=[{}]),
    notice(alerts=[{**firing(*ALERT), "startsAt": "soon"}]),
    notice(alerts=[{**firing(*ALERT), "startsAt": 5}]),
    notice(alerts=[{**firing(*ALERT), "startsAt": "2026-01-01T00:00:00"}]),
    notice(alerts=[{**firing(*ALERT), "startsAt": "0001-01-01T00:00:00Z"}]),
    notice(alerts=[{**firing(*ALERT), "status": "burning"}]),
    notice(alerts=[{**firing(*ALERT), "labels": {"alertname": 1}}]),
    notice(alerts=[{**firing(*ALERT), "labels": []}]),
]


@pytest.mark.parametrize("path", ["/v1/alerts", "/v1/investigations"])
@pytest.mark.parametrize("body", BAD, ids=range(len(BAD)))
def test_a_body_that_cannot_be_read_is_a_problem_of_the_request(
    running: RunningAgent, path: str, body: bytes
) -> None:
    assert is_problem(running.http.post(path, content=body), 400)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/investigations/../../etc/passwd", 404),
        ("GET", "/v1/investigations/%2e%2e%2fmodes", 404),
        ("GET", "/v1/incidents/nobody", 404),
        ("GET", "/v1/incidents/%00", 404),
        ("POST", "/v1/incidents/%00%ff/resolved", 404),
        ("POST", "/v1/incidents/nobody/acknowledged", 404),
        ("POST", "/v1/incidents/nobody/resolved", 404),
        ("DELETE", "/v1/investigations", 405),
        ("GET", "/v1/alerts", 405),
        ("GET", "/kpis?since=yesterday", 400),
        ("GET", "/kpis?since=2026-02-01&until=2026-01-01", 400),
        ("GET", "/kpis?sinse=2026-01-01", 400),
    ],
)
def test_every_refusal_says_what_to_do(running: RunningAgent, method: str, path: str, status: int) -> None:
    assert is_problem(running.http.request(method, path), status)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"when": "now"}',
        b'{"at": 5}',
        b'{"at": "now"}',
        b'{"class": ""}',
        b'{"class": "a\\u0007"}',
    ],
)
def test_a_moment_that_cannot_be_read_is_refused(running: RunningAgent, body: bytes) -> None:
    id = running.ask(firing(*ALERT, fingerprint="moment"))["incidentId"]
    assert is_problem(running.http.post(f"/v1/incidents/{id}/acknowledged", content=body), 400)
    assert running.http.get(f"/v1/incidents/{id}").json()["acknowledgedAt"] is None


def test_a_body_that_is_too_large_is_refused_announced_or_not(running: RunningAgent) -> None:
    assert is_problem(running.http.post("/v1/alerts", content=b"x" * 20001), 413)

    def pieces() -> Iterator[bytes]:
        for _ in range(21):
            yield b"x" * 1000

    assert is_problem(running.http.post("/v1/alerts", content=pieces()), 413)
    with connect(running) as client:
        client.sendall(b"POST /v1/alerts HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n")
        assert b" 413 " in client.recv(4096)


def connect(running: RunningAgent) -> socket.socket:
    host, _, port = running.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=DEADLINE)


def drained(client: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    data = b""
    while part := client.recv(4096):
        data += part
    return data


def test_clients_that_say_nothing_or_never_finish_are_let_go(running: RunningAgent) -> None:
    beginnings = [b"", b"POST /v1/al", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: "]
    clients = [connect(running) for _ in beginnings]
    for client, beginning in zip(clients, beginnings, strict=True):
        client.sendall(beginning)
    assert [drained(client) for client in clients] == [b"", b"", b""]
    with connect(running) as client:
        client.sendall(b"POST /v1/alerts HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
        assert drained(client).startswith(b"HTTP/1.1 408 ")
    for client in clients:
        client.close()


def test_a_client_that_drips_its_head_is_let_go_all_the_same(running: RunningAgent) -> None:
    with connect(running) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert drained_while(client, b"X: y\r\n") == b""


def drained_while(client: socket.socket, piece: bytes) -> bytes:
    """Send a piece every now and then until the other side closes."""
    client.settimeout(0.1)
    for _ in range(int(DEADLINE * 10)):
        try:
            client.sendall(piece)
            if client.recv(4096) == b"":
                return b""
        except TimeoutError:
            continue
        except OSError:
            return b""
    raise AssertionError("the connection was kept")


def test_what_is_not_http_is_answered_and_closed(running: RunningAgent) -> None:
    with connect(running) as client:
        client.sendall(b"\x16\x03\x01\x02\x00\x01\x00 hello\r\n\r\n")
        assert drained(client).startswith(b"HTTP/1.1 400 ")
    assert running.http.get("/healthz").status_code == 200


def test_many_requests_that_go_away_leave_the_agent_well(running: RunningAgent) -> None:
    body = notice()
    head = f"POST /v1/alerts HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    for _ in range(30):
        with connect(running) as client:
            client.sendall(head + body)
    running.wait_until_ready()
    assert running.ask(firing(*ALERT, fingerprint="after"))["outcome"] == "Concluded"


def test_a_store_that_hangs_costs_places_and_time_and_one_that_dies_is_told(tmp_path: Path) -> None:
    Mounted(tmp_path / "modes", {})
    with agent(tmp_path, "--workers", "1", "--queue", "1", "--timeout", "1.5") as running:
        store = running.store_pid()
        os.kill(store, signal.SIGSTOP)
        try:
            with ThreadPoolExecutor(6) as pool:
                answers = list(
                    pool.map(lambda n: running.post(firing(*ALERT, fingerprint=f"h{n}")), range(6))
                )
            busy = [answer for answer in answers if answer.status_code == 503]
            late = [answer for answer in answers if answer.status_code == 200]
            assert (len(busy), len(late)) == (4, 2)
            assert all(is_problem(answer, 503) and answer.headers["retry-after"] for answer in busy)
            assert {answer.json()["alerts"][0]["outcome"] for answer in late} == {"Failed"}
            # One place is free again: the call that waited never began. The other is held by the one that hangs.
            with ThreadPoolExecutor(3) as pool:
                answers = list(
                    pool.map(lambda _: running.http.post("/v1/investigations", json=INCIDENT), range(3))
                )
            assert sorted(answer.status_code for answer in answers) == [429, 429, 504]
            assert all(is_problem(answer, answer.status_code) for answer in answers)
            wait_until(lambda: running.http.get("/readyz").status_code == 503)
            assert running.http.get("/healthz").status_code == 200
            assert running.http.get("/modes").status_code == 200
        finally:
            os.kill(store, signal.SIGCONT)
        running.wait_until_ready()
        wait_until(lambda: running.http.post("/v1/investigations", json=INCIDENT).status_code == 200)
        assert running.metric("rca_investigations_total", outcome="timeout") == 3
        assert running.metric("rca_investigations_total", outcome="busy") >= 6
        os.kill(store, signal.SIGKILL)
        wait_until(lambda: running.http.get("/readyz").status_code == 503)


def test_a_store_that_is_not_there_yet_leaves_the_agent_unready_and_alive(tmp_path: Path) -> None:
    Mounted(tmp_path / "modes", {})
    with agent(tmp_path, "--store", "falkor://me:geheim@127.0.0.1:1", ready=False) as running:
        assert running.http.get("/healthz").status_code == 200
        answer = running.http.get("/readyz")
        assert is_problem(answer, 503)
        assert "graph store" in answer.json()["detail"]
        assert is_problem(running.post(firing(*ALERT)), 503)
        running.wait_for("waiting")
        assert "geheim" not in json.dumps(running.lines) + answer.text


def test_a_stop_is_graceful_and_leaves_nothing_behind(tmp_path: Path) -> None:
    Mounted(tmp_path / "modes", {})
    with agent(tmp_path) as running:
        running.ask(firing(*ALERT))
        assert running.store_pid() in stores(running.scratch)
        assert running.stop() == 0
        assert running.lines[-1]["event"] == "stopped"
        wait_until(lambda: stores(running.scratch) == [])


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with databases.server() as fresh:
        yield fresh()


def test_two_agents_keep_one_record(tmp_path: Path, postgresql: str) -> None:
    Mounted(tmp_path / "modes", {})
    with agent(tmp_path, database=postgresql) as one, agent(tmp_path, database=postgresql) as two:
        alerts = [firing(*ALERT, fingerprint=f"shared-{number}") for number in range(10)]
        with ThreadPoolExecutor(4) as pool:
            told = [*pool.map(one.ask, alerts), *pool.map(two.ask, alerts)]
        assert {one["lifecycle"] for one in told} == {"Recorded"}
        ends = {"status": "resolved", "endsAt": datetime.now(UTC).isoformat()}
        with ThreadPoolExecutor(4) as pool:
            list(
                pool.map(
                    lambda pair: pair[0].ask({**pair[1], **ends}),
                    [(a, b) for a in (one, two) for b in alerts],
                )
            )
        kpis = one.http.get("/kpis").json()
        assert kpis == two.http.get("/kpis").json()
        assert (kpis["incidents"], kpis["open"]) == (10, 0)
        assert {row["name"]: row["n"] for row in kpis["kpis"]} == {
            "MTTD": 10,
            "MTTA": 0,
            "MTTC": 10,
            "MTTR": 10,
        }
    with open_lifecycles(postgresql) as store:
        assert len(store.incidents()) == 10


def test_answers_go_on_while_the_record_is_away(tmp_path: Path) -> None:
    Mounted(tmp_path / "modes", {})
    with databases.server() as fresh:
        address = fresh()
        with agent(tmp_path, database=address) as running:
            assert running.ask(firing(*ALERT, fingerprint="before"))["lifecycle"] == "Recorded"
            databases.stop(address)
            told = running.ask(firing(*ALERT, fingerprint="while"))
            assert told["outcome"] == "Concluded"
            assert told["lifecycle"].startswith("not recorded: ")
            wait_until(lambda: running.http.get("/readyz").status_code == 503)
            assert is_problem(running.http.get("/kpis"), 503)


@pytest.mark.parametrize("delay", [0.0, 0.2])
def test_a_stop_while_it_starts_leaves_nothing_behind(tmp_path: Path, delay: float) -> None:
    Mounted(tmp_path / "modes", {})
    with agent(tmp_path, ready=False) as running:
        time.sleep(delay)  # some moment of the opening; which one is left to chance
        assert running.stop() in {0, 128 + signal.SIGTERM}
        assert stores(running.scratch) == []


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What the command says when it does not even start."""

    def run(*options: str) -> str:
        assert run_command(["serve", *options]) == 2
        said = capsys.readouterr()
        assert len(said.err.splitlines()) == 1, said.err
        assert "geheim" not in said.err + said.out
        return said.err

    return run


def test_a_bad_start_is_one_sentence(tmp_path: Path, refused: Callable[..., str]) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"schemaVersion": 1}')
    modes = ("--modes", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen, file = f"127.0.0.1:{taken.getsockname()[1]}", f"sqlite:///{tmp_path}/a.db"
        assert "cannot be listened on" in refused(*modes, "--listen", listen, "--database", file)
    assert "--listen" in refused(*modes, "--listen", "8080")
    assert "--listen" in refused(*modes, "--listen", "host:99999")
    assert "--store" in refused(*modes, "--store", "http://u:geheim@h")
    assert "profiles are" in refused(*modes, "--source", "catalogue:none")
    assert "does not exist" in refused(*modes, "--source", str(tmp_path / "none.json"))
    assert "DatasetInvalid" in refused(*modes, "--source", str(bad))
    assert "unable to open" in refused(
        *modes, "--listen", "127.0.0.1:0", "--database", "sqlite:////nowhere/a.db"
    )
    assert "DatabaseUnavailable" in refused(*modes, "--database", "mysql://u:geheim@h/d")
