"""The store writes and deletes its own graphs only, starts every incident clean, and leaves nothing behind."""

import os
import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rca_eval.contract import ContractError, parse_ground_truth, sha256
from rca_eval.contract.protocol import (
    EngineAlert,
    EngineChange,
    EngineIncident,
    EngineService,
    EngineTelemetry,
    EngineTelemetryRow,
    EngineTopology,
)
from rca_eval.data import ground_truth_bytes
from rca_eval.graph import LIVE_KEY, PREFIX, graph_key, open_store
from rca_eval.graph.keys import checked
from rca_eval.job.prepare import cases


@pytest.fixture(scope="module")
def views():
    data = ground_truth_bytes("graded")
    return [case.view for case in cases(parse_ground_truth(data), sha256(data)) if case.arm == "LivePath"]


@pytest.mark.parametrize(
    "key",
    [
        LIVE_KEY,
        f"{LIVE_KEY}_evaluation",
        f"{LIVE_KEY}_eval",
        f"{PREFIX}:",
        f"{PREFIX}:run",
        f"{PREFIX}:run:Other",
        f"{PREFIX}:a b:LivePath",
        f"{PREFIX}:run:LivePath\n",
        f" {PREFIX}:run:LivePath",
        "",
    ],
)
def test_the_live_graph_and_every_foreign_key_are_refused(store, views, key):
    for touch in (lambda: store.drop(key), lambda: store.incident(key, views[0]).__enter__()):
        with pytest.raises(ContractError) as caught:
            touch()
        assert caught.value.reason == "StoreKeyRefused"
    assert store.keys() == []


@given(st.text(max_size=20), st.text(max_size=12))
def test_no_text_makes_a_key_outside_the_prefix(run, arm):
    try:
        key = graph_key(run, arm)
    except ContractError:
        return
    assert key.startswith(f"{PREFIX}:")
    assert checked(key) == key


def test_a_graph_holds_one_incident_only_and_is_gone_afterwards(store, views):
    key = graph_key("clean", "LivePath")
    for view in views:
        with store.incident(key, view) as graph:
            assert {row.key for row in graph.candidates()} == reached(view)
            assert store.keys() == [key]
    assert store.keys() == []


def test_what_a_killed_run_left_under_the_key_is_not_in_the_next_graph(store, views):
    key = graph_key("killed", "LivePath")
    left = store.incident(key, views[0])
    left.__enter__()  # and never left, as after kill -9
    with store.incident(key, views[1]) as graph:
        assert {row.key for row in graph.candidates()} == reached(views[1])
        assert graph.changes(["archives-api"], 0, 2**40) == []
    assert store.keys() == []


def test_a_server_by_url_gives_the_same_rows_as_the_embedded_store(store, views):
    socket = store._database.client.socket_file
    key = graph_key("by-url", "LivePath")
    with open_store(f"unix://{socket}") as server, server.incident(key, views[0]) as graph:
        found = graph.candidates(), graph.changes(["archives-api"], 0, 2**40)
        assert store.keys() == [key]
    with store.incident(key, views[0]) as graph:
        assert found == (graph.candidates(), graph.changes(["archives-api"], 0, 2**40))
    assert store.keys() == []


def test_a_graph_is_dropped_when_the_work_fails(store, views):
    with pytest.raises(RuntimeError), store.incident(graph_key("failing", "LivePath"), views[0]):
        raise RuntimeError
    assert store.keys() == []


def test_rows_come_back_sorted_whatever_the_order_of_insertion(store, views):
    view = views[4]
    turned = view.topology.model_copy(
        update={"services": view.topology.services[::-1], "calls": view.topology.calls[::-1]}
    )
    rows = []
    for one in (view, view.model_copy(update={"topology": turned, "changes": view.changes[::-1]})):
        with store.incident(graph_key("sorted", "LivePath"), one) as graph:
            rows.append((graph.candidates(), graph.changes(["authelia"], 0, 2**40)))
    assert rows[0] == rows[1]
    assert [row.key for row in rows[0][0]] == sorted(row.key for row in rows[0][0])


KEYS = st.sampled_from([*"abcdefgh", "absent"])
SOME = 1700000000


@st.composite
def incidents(draw):
    keys = draw(st.lists(KEYS.filter(lambda key: key != "absent"), max_size=8))
    ratios = st.none() | st.integers(0, 1000).map(lambda n: Decimal(n).scaleb(-3))
    rows = {
        key: EngineTelemetryRow(criticality=draw(ratios), error_rate=draw(ratios))
        for key in draw(st.sets(KEYS))
    }
    changes = st.builds(
        EngineChange,
        kind=st.sampled_from(["Deploy", "Change"]),
        service=KEYS,
        at=st.integers(SOME, SOME + 3),
        ref=st.none() | st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=4),
    )
    return EngineIncident(
        case="case-00000000",
        window_seconds=1800,
        alert=EngineAlert(name="a", service=draw(KEYS), fired_at=SOME),
        topology=EngineTopology(
            services=tuple(EngineService(key=key) for key in keys),
            calls=tuple(draw(st.lists(st.tuples(KEYS, KEYS), max_size=12))),
        ),
        telemetry=EngineTelemetry(availability="full", services=rows),
        changes=tuple(draw(st.lists(changes, max_size=5))),
    )


def reached(incident):
    """What the symptom reaches in at most three calls, over the services that the topology lists."""
    known = {service.key for service in incident.topology.services}
    found = {incident.alert.service} & known
    for _ in range(3):
        found |= {b for a, b in incident.topology.calls if a in found and b in known}
    return found


@settings(max_examples=60)
@given(incidents())
def test_the_graph_is_the_document_whatever_is_missing_or_absent_from_the_topology(store, incident):
    known = sorted({service.key for service in incident.topology.services})
    with store.incident(graph_key("any", "LivePath"), incident) as graph:
        candidates, changes = graph.candidates(), graph.changes(known, SOME, SOME + 2)
    rows = incident.telemetry.services
    blank = EngineTelemetryRow()
    assert [row.key for row in candidates] == sorted(reached(incident))
    assert {(row.key, row.criticality, row.error_rate) for row in candidates} == {
        (key, rows.get(key, blank).criticality, rows.get(key, blank).error_rate) for key in reached(incident)
    }
    assert sorted((row.service, row.at, row.key, row.ref or "") for row in changes) == sorted(
        (change.service, change.at, f"{change.kind}/{change.service}/{change.at}", change.ref or "")
        for change in incident.changes
        if change.service in known and change.at <= SOME + 2
    )
    assert store.keys() == []


def test_text_of_others_does_not_become_part_of_a_query(store, views):
    view = views[0]
    every = "".join(chr(code) for code in range(1, 0x180)) + "\u2028\ufeff\U0001f600"
    nasty = f"\"}}) DETACH DELETE s //'`\\ \\u0041 \\n $x{every}"
    changes = tuple(change.model_copy(update={"ref": nasty}) for change in view.changes)
    alert = view.alert.model_copy(update={"name": nasty, "severity": nasty})
    with store.incident(
        graph_key("quoted", "LivePath"), view.model_copy(update={"changes": changes, "alert": alert})
    ) as graph:
        assert len(graph.candidates()) == 4
        assert {row.ref for row in graph.changes(["archives-api"], 0, 2**40)} == {nasty}


@pytest.mark.parametrize(
    "where", ["falkor://127.0.0.1:1", "redis://user:secret@127.0.0.1:1", "http://x", "nonsense", ""]
)
def test_a_store_that_cannot_be_used_is_one_clear_sentence_without_the_password(where):
    with pytest.raises(ContractError) as caught, open_store(where):
        pass
    assert caught.value.reason == "StoreUnavailable"
    assert "\n" not in caught.value.message
    assert "secret" not in caught.value.message


def test_the_embedded_server_starts_under_a_locale_that_the_machine_does_not_have():
    """What an SSH client hands over; the server would not start, and blame a temporary folder."""
    code = "from rca_eval.graph import open_store\nwith open_store() as store: print(store.keys())"
    env = {**os.environ, "LC_ALL": "xx_YY.UTF-8"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.parametrize(
    "url",
    [
        "falkor://127.0.0.1:abc",
        "falkor://user:hidden@[::1",
        "falkor://user:hid/den@127.0.0.1:1",
        "falkor://user:12/hidden@127.0.0.1:1",
        "falkor://user:hid@den@127.0.0.1:1",
        "falkor://user:1?hidden@127.0.0.1:1",
    ],
)
def test_an_address_that_cannot_be_read_is_one_sentence_without_the_password(url):
    with pytest.raises(ContractError) as caught, open_store(url):
        pass
    assert caught.value.reason == "StoreUnavailable"
    assert not {"hid", "den"} & set(caught.value.message.replace("/", " ").replace("@", " ").split())
    assert "hidden" not in caught.value.message
