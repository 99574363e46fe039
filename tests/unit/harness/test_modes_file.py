"""What a mode is, wherever it is read: every doubt is Shadow, and a change counts at once.

Aspects: values, revisions, folders as the kubelet swaps them, documents, the environment, hostile files, one moment for
several keys, the watcher.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rca_testing.mounted import Mounted

from rca_eval.modes import Cause, Mode, ModeFile, Reading, watch

KEY = "RcaLiveActivation.Mode"


def read_value(tmp_path: Path, data: bytes, revision: str | None = None) -> Reading:
    (tmp_path / KEY).write_bytes(data)
    return ModeFile(tmp_path, revision=revision).look([KEY])[0]


@pytest.mark.parametrize("text", ["Active", "Active\n", " \tActive\r\n"])
def test_the_exact_word_is_active_with_white_space_around_it(tmp_path: Path, text: str) -> None:
    assert read_value(tmp_path, text.encode()).mode is Mode.ACTIVE


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"", Cause.UNKNOWN),
        (b"active", Cause.UNKNOWN),
        (b"ACTIVE", Cause.UNKNOWN),
        (b"Act ive", Cause.UNKNOWN),
        (b'"Active"', Cause.UNKNOWN),
        (b"Active\x00", Cause.UNKNOWN),
        ("Active\N{NO-BREAK SPACE}".encode(), Cause.UNKNOWN),
        (b"\xef\xbb\xbfActive", Cause.UNKNOWN),
        (b"Active@", Cause.UNKNOWN),
        (b"true", Cause.UNKNOWN),
        (b"\xff\xfeA\x00", Cause.NOT_TEXT),
        (b"Active" + b" " * 4096, Cause.TOO_LARGE),
        (b"Shadow", Cause.SHADOW),
        (b"Shadow@r1", Cause.SHADOW),
    ],
)
def test_everything_else_is_shadow_and_says_why(tmp_path: Path, data: bytes, cause: Cause) -> None:
    reading = read_value(tmp_path, data)
    assert (reading.mode, reading.reason) == (Mode.SHADOW, cause)


@given(text=st.text())
def test_no_text_but_the_word_is_ever_active(text: str) -> None:
    mode = ModeFile.of({KEY: text}, revision="r1").read(KEY)
    assert (mode is Mode.ACTIVE) == (text.strip(" \t\r\n") in {"Active", "Active@r1"})


def test_a_value_for_a_revision_counts_for_that_revision_only(tmp_path: Path) -> None:
    assert read_value(tmp_path, b"Active@r1", "r1").mode is Mode.ACTIVE
    other = read_value(tmp_path, b"Active@r1", "r2")
    assert (other.mode, other.reason) == (Mode.SHADOW, Cause.OTHER_REVISION)
    assert read_value(tmp_path, b"Active@r1", None).reason is Cause.OTHER_REVISION
    assert read_value(tmp_path, b"Active@r1@x", "r1@x").mode is Mode.ACTIVE
    assert ModeFile(tmp_path).read(KEY, "r1@x") is Mode.ACTIVE


def test_a_mounted_config_map_is_reread_after_every_swap(tmp_path: Path) -> None:
    mounted = Mounted(tmp_path / "modes", {KEY: "Shadow", "Other.Mode": "Active"})
    modes = ModeFile(mounted.path)
    for value in ("Active", "Shadow", "Active", "nonsense", "Active"):
        mounted.swap({KEY: value, "Other.Mode": "Active"})
        assert modes.read(KEY) is (Mode.ACTIVE if value == "Active" else Mode.SHADOW)
        assert modes.read("Other.Mode") is Mode.ACTIVE
    mounted.swap({"Other.Mode": "Active"})
    assert modes.look([KEY])[0].reason is Cause.MISSING


def test_a_rewrite_in_place_with_the_same_size_and_time_is_seen(tmp_path: Path) -> None:
    path = tmp_path / KEY
    path.write_text("Active")
    times = path.stat()
    modes = ModeFile(tmp_path)
    assert modes.read(KEY) is Mode.ACTIVE
    path.write_text("Shadow")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert modes.read(KEY) is Mode.SHADOW


def test_what_goes_away_is_shadow_at_once_and_comes_back(tmp_path: Path) -> None:
    mounted = Mounted(tmp_path / "modes", {KEY: "Active"})
    modes = ModeFile(mounted.path)
    assert modes.read(KEY) is Mode.ACTIVE
    mounted.path.rename(tmp_path / "away")
    assert modes.look([KEY])[0].reason is Cause.MISSING
    (tmp_path / "away").rename(mounted.path)
    assert modes.read(KEY) is Mode.ACTIVE
    (mounted.path / "..data").unlink()
    assert modes.read(KEY) is Mode.SHADOW


def test_several_keys_are_of_one_version_while_the_folder_is_swapped(tmp_path: Path) -> None:
    one, two = {"A.Mode": "Active", "B.Mode": "Shadow"}, {"A.Mode": "Shadow", "B.Mode": "Active"}
    mounted = Mounted(tmp_path / "modes", one)
    modes, ended = ModeFile(mounted.path), threading.Event()

    def swap() -> None:
        while not ended.is_set():
            mounted.swap(two)
            mounted.swap(one)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = {tuple(reading.mode for reading in modes.look(["A.Mode", "B.Mode"])) for _ in range(2000)}
    finally:
        ended.set()
        thread.join()
    assert (Mode.ACTIVE, Mode.ACTIVE) not in seen
    assert {(Mode.ACTIVE, Mode.SHADOW), (Mode.SHADOW, Mode.ACTIVE)} <= seen


@pytest.mark.parametrize("key", ["", "..", "../secret", "a/b", "..data", "a b", "x" * 254, "a\nb"])
def test_a_key_that_no_config_map_can_have_is_not_looked_up(tmp_path: Path, key: str) -> None:
    (tmp_path / "secret").write_text("Active")
    folder = tmp_path / "modes"
    folder.mkdir()
    assert ModeFile(folder).look([key])[0].reason is Cause.BAD_KEY


def test_pipes_folders_loops_and_strangers_are_shadow_and_block_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Pipe.Mode")
    (tmp_path / "Folder.Mode").mkdir()
    (tmp_path / "Loop.Mode").symlink_to("Loop.Mode")
    (tmp_path / "Null.Mode").symlink_to("/dev/zero")
    keys = ["Pipe.Mode", "Folder.Mode", "Loop.Mode", "Null.Mode"]
    assert [(r.mode, r.reason) for r in ModeFile(tmp_path).look(keys)] == [
        (Mode.SHADOW, Cause.UNREADABLE)
    ] * 4


def test_a_file_that_may_not_be_read_is_shadow() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, KEY)
        path.write_text("Active")
        path.chmod(0)
        user = os.geteuid()
        if user == 0:  # root reads everything: look as somebody else
            os.seteuid(65534)
        try:
            assert ModeFile(folder).look([KEY])[0].reason is Cause.UNREADABLE
        finally:
            os.seteuid(user)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({KEY: "Active", "Count": 3}),
        f"# modes\n\n{KEY}=Active\nOther.Mode = Shadow\n",
        f"{KEY} = Active",
    ],
)
def test_a_document_holds_many_keys_and_is_reread(tmp_path: Path, text: str) -> None:
    path = tmp_path / "modes"
    path.write_text(text)
    modes = ModeFile(path)
    assert modes.read(KEY) is Mode.ACTIVE
    path.write_text(text.replace("Active", "Shadow"))
    assert modes.look([KEY])[0].reason is Cause.SHADOW


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"{}", Cause.MISSING),
        (b"", Cause.MISSING),
        (b'{"%s": true}' % KEY.encode(), Cause.UNKNOWN),
        (b'{"%s": ["Active"]}' % KEY.encode(), Cause.UNKNOWN),
        (b'{"%s": {"Active": 1}}' % KEY.encode(), Cause.UNKNOWN),
        (b'{"a": {"%s": "Active"}}' % KEY.encode(), Cause.MISSING),
        (b'{"%s": "Active", "%s": "Active"}' % (KEY.encode(), KEY.encode()), Cause.AMBIGUOUS),
        (b'{"%s": "Active"' % KEY.encode(), Cause.UNREADABLE),
        (b'[["%s", "Active"]]' % KEY.encode(), Cause.UNREADABLE),
        (b'{"a":' * 100000, Cause.UNREADABLE),
        (b"%s=Active\nno equals sign\n" % KEY.encode(), Cause.UNREADABLE),
        (b"%s=Active\n%s=Shadow\n" % (KEY.encode(), KEY.encode()), Cause.AMBIGUOUS),
        (b"%s=Active\n#\xff\n" % KEY.encode(), Cause.NOT_TEXT),
        (b"%s=Active\n" % KEY.encode() + b"#" * 1024 * 1024, Cause.TOO_LARGE),
    ],
)
def test_a_document_in_doubt_is_shadow(tmp_path: Path, data: bytes, cause: Cause) -> None:
    path = tmp_path / "modes"
    path.write_bytes(data)
    reading = ModeFile(path).look([KEY])[0]
    assert (reading.mode, reading.reason) == (Mode.SHADOW, cause)


def test_the_environment_may_spell_a_key_without_dots_but_not_both_ways_differently() -> None:
    assert ModeFile.of({"RcaLiveActivation_Mode": "Active"}).read(KEY) is Mode.ACTIVE
    assert ModeFile.of({KEY: "Active", "RcaLiveActivation_Mode": "Active"}).read(KEY) is Mode.ACTIVE
    both = ModeFile.of({KEY: "Active", "RcaLiveActivation_Mode": "Shadow"}).look([KEY])[0]
    assert (both.mode, both.reason) == (Mode.SHADOW, Cause.AMBIGUOUS)


def test_a_reading_tells_since_when_and_shows_no_control_character(tmp_path: Path) -> None:
    times = iter([datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)])
    modes = ModeFile(tmp_path, revision="r1", clock=lambda: next(times))
    (tmp_path / KEY).write_text("\x1b[31mActive" + "x" * 400)
    first = modes.look([KEY])[0]
    assert modes.look([KEY])[0] == first
    (tmp_path / KEY).write_text("Active")
    second = modes.look([KEY])[0]
    assert (first.loaded_at.day, second.loaded_at.day) == (1, 2)
    assert first.value is not None
    assert first.value.isprintable()
    assert len(first.value) == 300
    assert second.plain() == {
        "component": KEY,
        "value": "Active",
        "mode": "Active",
        "revision": "r1",
        "source": str(tmp_path),
        "loadedAt": "2026-01-02T00:00:00.000000Z",
        "reason": "Active",
    }


def test_a_watcher_hears_of_each_change_and_survives_its_own_errors(tmp_path: Path) -> None:
    mounted = Mounted(tmp_path / "modes", {KEY: "Shadow"})
    heard: list[Mode] = []
    news = threading.Semaphore(0)

    def on_change(reading: Reading) -> None:
        heard.append(reading.mode)
        news.release()
        raise RuntimeError("the watcher's own trouble")

    stop = watch(ModeFile(mounted.path), [KEY], on_change, seconds=0.01)
    try:
        assert news.acquire(timeout=30)
        mounted.swap({KEY: "Active"})
        assert news.acquire(timeout=30)
    finally:
        stop.set()
    assert heard == [Mode.SHADOW, Mode.ACTIVE]
