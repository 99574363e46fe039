"""The example consumer in shell and the library mean the same by every value.

Aspects: values, revisions, keys, hostile files, a mounted folder that is swapped, the file that it writes again and again.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from rca_testing.mounted import Mounted

from rca_eval.modes import Mode, ModeFile

CONSUMER = Path(__file__).parents[3] / "examples" / "agent" / "consumer.sh"
VALUES = {
    "Plain": b"Active",
    "Newline": b" \t\r\nActive\r\n",
    "Empty": b"",
    "White": b" \n",
    "Shadow": b"Shadow",
    "Lower": b"active",
    "Quoted": b'"Active"',
    "Nul": b"Act\x00ive",
    "NulEnd": b"Active\x00",
    "Unprintable": b"\xffActive",
    "Inside": b"Act ive",
    "FormFeed": b"\x0cActive",
    "Own": b"Active@r7",
    "Other": b"Active@r8",
    "Bare": b"Active@",
    "Twice": b"Active@r7@r7",
    "Longest": b"Active" + b" " * 4090,
    "TooLong": b"Active" + b" " * 4091,
}


def by_shell(folder: Path, *keys: str, revision: str = "") -> dict[str, Mode]:
    done = subprocess.run(
        [CONSUMER, folder, *keys],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"PATH": os.environ["PATH"], "RCA_REVISION": revision},
    )
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    return {
        line.split('"')[1]: Mode.ACTIVE if line.endswith("} 1") else Mode.SHADOW
        for line in lines
        if line.startswith("rca_mode_active{component=")
    }


@pytest.mark.parametrize("revision", ["", "r7"])
def test_shell_and_library_agree_on_every_value(tmp_path: Path, revision: str) -> None:
    for key, value in VALUES.items():
        (tmp_path / key).write_bytes(value)
    (tmp_path / "Folder").mkdir()
    os.mkfifo(tmp_path / "Pipe")
    (tmp_path / "Loop").symlink_to("Loop")
    keys = [*VALUES, "Folder", "Pipe", "Loop", "Missing"]
    modes = ModeFile(tmp_path, revision=revision or None)
    found = by_shell(tmp_path, *keys, revision=revision)
    assert found == {key: modes.read(key) for key in keys}
    assert [key for key, mode in found.items() if mode is Mode.ACTIVE] == [
        "Plain", "Newline", *(["Own"] if revision else []), "Longest",
    ]  # fmt: skip


def test_shell_looks_up_no_key_that_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("Active")
    Mounted(tmp_path / "modes", {"K.Mode": "Active"})
    assert by_shell(tmp_path / "modes", "../secret", "..data/K.Mode", "K.Mode") == {
        "../secret": Mode.SHADOW,
        "..data/K.Mode": Mode.SHADOW,
        "K.Mode": Mode.ACTIVE,
    }


def test_shell_follows_a_swap(tmp_path: Path) -> None:
    mounted = Mounted(tmp_path / "modes", {"K.Mode": "Shadow"})
    out = tmp_path / "metrics"
    environment = {"PATH": os.environ["PATH"], "RCA_OUT": str(out), "RCA_SECONDS": "0.05"}
    process = subprocess.Popen([CONSUMER, mounted.path, "K.Mode"], env=environment)
    try:
        for value, shown in (("Shadow", "0"), ("Active", "1"), ("off", "0")):
            mounted.swap({"K.Mode": value})
            ends = time.monotonic() + 60
            while not (out.exists() and out.read_text().endswith(f"}} {shown}\n")):
                assert time.monotonic() < ends
                time.sleep(0.02)
    finally:
        process.terminate()
        process.wait(60)
