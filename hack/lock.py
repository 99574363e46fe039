"""Write `locks/*.txt` anew from pyproject.toml, with hashes and without URLs.

`dev.txt` is resolved first, the locks of the images are then held to the same versions. `uv` comes from the
package index into a throwaway environment. Versions stay as they are unless `--upgrade` is given: uv reads
the old lock as a wish.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UV = "uv>=0.13.8,<0.14"
COMMON = (
    "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-annotate", "--no-emit-index-url",
    "--no-emit-find-links", "--python-version", "3.12", "--custom-compile-command", "make lock",
)  # fmt: skip
OPERATOR = ("--extra", "operator")
HARNESS = ("--extra", "harness", "--extra", "agent")
AS_DEV = ("-c", "locks/dev.txt")
LOCKS = {
    "locks/dev.txt": ("pyproject.toml", *OPERATOR, *HARNESS, "--group", "dev"),
    "locks/operator.txt": ("pyproject.toml", *OPERATOR, *AS_DEV),
    "locks/harness.txt": ("pyproject.toml", *HARNESS, *AS_DEV),
    # What makes the wheel inside an image build; none of it is in the image.
    "locks/build.txt": ("--group", "build", *AS_DEV),
    # An environment of its own for the benchmarks: the harness, and the published method beside it.
    "locks/bench.txt": ("pyproject.toml", *HARNESS, "--group", "bench", *AS_DEV),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make lock", description=__doc__)
    parser.add_argument(
        "--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows"
    )
    parser.add_argument("--only", choices=LOCKS, metavar="LOCK", help="write this lock alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rca-lock-") as scratch:
        venv = Path(scratch) / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run(
            [venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", UV], check=True
        )
        for name, selection in LOCKS.items():
            if options.only not in (None, name):
                continue
            upgrade = ["--upgrade"] if options.upgrade and name == "locks/dev.txt" else []
            command = [str(venv / "bin" / "uv"), *COMMON, *selection, *upgrade, "-o", name]
            if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
                print(f"lock: {name} could not be resolved, see above", file=sys.stderr)
                return 1
            print(f"lock: wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
