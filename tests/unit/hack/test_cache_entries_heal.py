"""A cache entry is complete and unchanged, or it is made again."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest

from hack.cluster.manifest import MANIFEST, defect, ensure_entry, seal


def _entry(directory: Path) -> Path:
    (directory / "bin").mkdir(parents=True)
    (directory / "bin" / "tool").write_bytes(b"\x7fELF" + b"x" * 1000)
    seal(directory)
    return directory


def _truncate(entry: Path) -> None:
    (entry / "bin" / "tool").write_bytes(b"\x7fELF")


def _flip_one_byte(entry: Path) -> None:
    tool = entry / "bin" / "tool"
    tool.write_bytes(tool.read_bytes()[:-1] + b"y")


def _delete_a_file(entry: Path) -> None:
    (entry / "bin" / "tool").unlink()


def _delete_the_manifest(entry: Path) -> None:
    (entry / MANIFEST).unlink()


def _cut_the_manifest(entry: Path) -> None:
    text = (entry / MANIFEST).read_text()
    (entry / MANIFEST).write_text(text[: len(text) // 2])


def _empty_the_manifest(entry: Path) -> None:
    (entry / MANIFEST).write_text('{"files": {}}')


DAMAGE = [
    _truncate,
    _flip_one_byte,
    _delete_a_file,
    _delete_the_manifest,
    _cut_the_manifest,
    _empty_the_manifest,
]


def test_a_sealed_entry_is_sound(tmp_path: Path) -> None:
    assert defect(_entry(tmp_path / "entry")) is None


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__.strip("_"))
def test_every_kind_of_damage_is_noticed_and_healed(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    entry = _entry(tmp_path / "shelf" / "entry")
    damage(entry)
    assert defect(entry) is not None

    def build(target: Path) -> None:
        (target / "tool").write_text("built again")

    assert ensure_entry(entry, build, what="the tool") == entry
    assert defect(entry) is None
    assert (entry / "tool").read_text() == "built again"


def test_a_sound_entry_is_not_built_again(tmp_path: Path) -> None:
    entry = _entry(tmp_path / "shelf" / "entry")

    def build(_: Path) -> None:
        pytest.fail("built although the entry was sound")

    ensure_entry(entry, build, what="the tool")


def test_a_failed_build_leaves_nothing_that_could_be_taken_for_an_entry(tmp_path: Path) -> None:
    entry = tmp_path / "shelf" / "entry"

    def build(target: Path) -> None:
        (target / "half").write_text("half")
        raise RuntimeError("the compiler stopped")

    with pytest.raises(RuntimeError):
        ensure_entry(entry, build, what="the tool")
    assert not entry.exists()
    assert [path.name for path in (tmp_path / "shelf").iterdir()] == [".lock"]


def test_what_a_killed_build_left_is_swept_away_by_the_next_one(tmp_path: Path) -> None:
    entry = tmp_path / "shelf" / "entry"
    stale = tmp_path / "shelf" / ".making-abc"
    stale.mkdir(parents=True)
    ensure_entry(entry, lambda target: (target / "tool").touch(), what="the tool")
    assert not stale.exists()


def _build_and_count(shelf: str) -> None:
    def build(target: Path) -> None:
        with (Path(shelf) / "builds").open("a") as stream:
            stream.write("built\n")
        (target / "tool").write_text("tool")

    ensure_entry(Path(shelf) / "entry", build, what="the tool")


def test_two_processes_that_want_the_same_entry_build_it_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_build_and_count, args=(str(tmp_path),)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert (tmp_path / "builds").read_text() == "built\n"
