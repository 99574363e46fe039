"""Playing an incident to a running agent: what is sent, what is made of the answer, and every way it can go wrong.

Aspects: no label in what is sent, hit and miss, exit statuses, lifecycles, agents that refuse, hang, lie or babble.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from rca_testing.agents import RunningAgent, agent
from rca_testing.mounted import Mounted

from rca_eval.cli.main import run as run_command
from rca_eval.contract import parse_ground_truth
from rca_eval.data import ground_truth_bytes
from rca_eval.simulate import chosen, judge, notification

TRUTH = parse_ground_truth(ground_truth_bytes("graded"))
NOW = datetime(2026, 11, 30, tzinfo=UTC)

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def simulate(capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*options: str) -> tuple[int, str, str]:
        status = run_command(["simulate", *options])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningAgent]:
    folder = tmp_path_factory.mktemp("simulate")
    Mounted(folder / "modes", {})
    with agent(folder) as found:
        yield found


@pytest.mark.parametrize("incident", TRUTH.incidents, ids=lambda one: one.id)
def test_nothing_of_the_label_is_sent(incident: Any) -> None:
    text = json.dumps(notification(incident, status="firing", starts=NOW, ends=None))
    assert incident.id not in text
    assert incident.fault_class not in text
    for cause in incident.expected_root_cause:
        assert cause not in text


@pytest.mark.parametrize("incident", TRUTH.incidents, ids=lambda one: one.id)
def test_each_incident_is_a_hit_with_everything_in_shadow(
    running: RunningAgent, simulate: Command, incident: Any
) -> None:
    status, out, err = simulate(incident.id, "--agent", running.url)
    assert (status, err) == (0, "")
    assert out.startswith(f"HIT {incident.id}")
    assert "<- the cause" in out
    assert "all components in Shadow" in out


def test_a_cause_that_is_not_first_is_a_miss_with_its_place(
    running: RunningAgent, simulate: Command, tmp_path: Path
) -> None:
    data = json.loads(ground_truth_bytes("graded"))
    data["incidents"][3]["expectedRootCause"] = "qdrant"
    data["incidents"][4]["expectedRootCause"] = "elsewhere"
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(data))
    status, out, _ = simulate("GT-04", "--agent", running.url, "--dataset", str(path))
    assert status == 1
    assert "MISS GT-04-falkordb-down: the cause qdrant is ranked 2" in out
    status, out, _ = simulate("GT-05", "--agent", running.url, "--dataset", str(path), "--format", "json")
    found = json.loads(out)
    assert (status, found["hit"], found["rank"]) == (1, False, None)


def test_an_incident_can_be_lived_through(running: RunningAgent, simulate: Command) -> None:
    status, out, _ = simulate(
        "GT-06", "--agent", running.url, "--acknowledge", "--resolve", "--format", "json", "--wait", "30"
    )
    assert status == 0
    found = running.http.get(f"/v1/incidents/{json.loads(out)['incidentId']}").json()
    times = [found[f"{name}At"] for name in ("fired", "detected", "concluded", "acknowledged", "resolved")]
    assert times == sorted(times)
    status, out, _ = simulate("GT-06", "--agent", running.url, "--status", "resolved")
    assert (status, "Resolved" in out) == (0, True)


def test_an_incident_at_its_own_time_is_the_same_one_again(running: RunningAgent, simulate: Command) -> None:
    options = ("GT-07", "--agent", running.url, "--at", "original", "--format", "json")
    first, second = (json.loads(simulate(*options)[1]) for _ in range(2))
    assert (first["outcome"], second["outcome"]) == ("Concluded", "Duplicate")
    assert first["incidentId"] == second["incidentId"]


def test_an_agent_that_does_not_know_the_alert_is_an_error(
    running: RunningAgent, simulate: Command, tmp_path: Path
) -> None:
    data = json.loads(ground_truth_bytes("graded"))
    data["incidents"][0]["alert"]["name"] = "Novel"
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(data))
    status, out, err = simulate("GT-01", "--agent", running.url, "--dataset", str(path))
    assert (status, out) == (2, "")
    assert "Novel" in err


def test_ties_count_against_the_agent() -> None:
    ranked = [{"entity": "falkordb", "score": "0.5"}, {"entity": "qdrant", "score": 0.5}]
    told = json.loads(
        json.dumps({"outcome": "Concluded", "incidentId": "i", "investigation": {"candidates": ranked}})
    )
    told["investigation"]["candidates"][1]["score"] = "0.5"
    assert judge(chosen(TRUTH, "GT-04", "test"), told).rank == 2
    del ranked[0]["score"], ranked[1]["score"]
    told["investigation"]["candidates"] = ranked
    assert judge(chosen(TRUTH, "GT-04", "test"), told).rank == 1


@pytest.mark.parametrize("wanted", ["GT-0", "GT-99", ""])
def test_an_incident_that_is_none_or_many_is_told(simulate: Command, wanted: str) -> None:
    status, _, err = simulate(wanted, "--agent", "http://127.0.0.1:1")
    assert status == 2
    assert "GT-01-login-break" in err


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8080", "ftp://127.0.0.1", "http://", "http://[", "http://u:geheim@127.0.0.1:1"]
)
def test_an_address_that_cannot_be_asked_is_one_sentence(simulate: Command, url: str) -> None:
    status, out, err = simulate("GT-04", "--agent", url)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith("AgentUnavailable: ")
    assert "geheim" not in err


def test_an_agent_that_accepts_and_says_nothing_is_not_waited_for(simulate: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        status, _, err = simulate("GT-04", "--agent", url, "--timeout", "0.2")
        assert (status, "did not answer within 0.2 s" in err) == (2, True)
        status, _, err = simulate("GT-04", "--agent", url, "--timeout", "0.2", "--wait", "0.1")
        assert (status, "was not ready within 0.1 s" in err) == (2, True)


@contextmanager
def liar(status: int, body: bytes, kind: str = "application/json") -> Iterator[str]:
    """A server that answers everything with this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def told(**more: Any) -> bytes:
    return json.dumps({"alerts": [{"outcome": "Concluded", "incidentId": "inc-1", **more}]}).encode()


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (200, b"", "empty"),
        (200, b"<html>hello</html>", "not valid JSON"),
        (200, b"[]", "not with a JSON object"),
        (200, b"\xff", "not UTF-8"),
        (200, b"{}", "is it an agent of this protocol?"),
        (200, b'{"alerts": []}', "is it an agent of this protocol?"),
        (200, b'{"alerts": [1]}', "is it an agent of this protocol?"),
        (200, b'{"alerts": [{}]}', "is it an agent of this protocol?"),
        (200, told(), "cannot be read"),
        (200, told(investigation={"candidates": "falkordb"}), "cannot be read"),
        (200, told(investigation={"candidates": [{"entity": ""}]}), "cannot be read"),
        (200, told(investigation={"candidates": [{"entity": "a", "score": "1e999"}]}), "cannot be read"),
        (200, told(outcome="Failed", reason="\x1b[31mred"), "Failed"),
        (500, b"Internal Server Error", "status 500"),
        (503, b'{"detail": "the store is away."}', "status 503: the store is away."),
        (302, b"{}", "status 302"),
    ],
)
def test_an_answer_that_makes_no_sense_is_one_sentence(
    simulate: Command, status: int, body: bytes, text: str
) -> None:
    with liar(status, body) as url:
        code, out, err = simulate("GT-04", "--agent", url)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert text in err
    assert "\x1b" not in err


def test_an_agent_that_tells_little_is_understood(simulate: Command) -> None:
    with liar(200, told(investigation={"candidates": [{"entity": "falkordb"}], "mine": 1})) as url:
        code, out, _ = simulate("GT-04", "--agent", url)
    assert (code, out.startswith("HIT")) == (0, True)
