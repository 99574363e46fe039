"""Building one recipe into a directory."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.cluster.golang import find_go, go_environment
from hack.cluster.gomod import go_mod, kubernetes_ldflags, staging_modules, staging_version
from hack.cluster.paths import cache_root
from hack.cluster.progress import run_logged
from hack.cluster.recipes import Recipe, binary_name

GO_LANGUAGE = "1.26.0"


def build(recipe: Recipe, target: Path) -> None:
    """Fetch the module, write a go.mod around it, compile, and leave the binaries in `target`/bin."""
    go = find_go()
    env = go_environment()
    log = cache_root() / "logs" / f"build-{recipe.name}.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="rca-gobuild-") as scratch:
        workdir = Path(scratch)
        ldflags = recipe.ldflags
        replaces: dict[str, str] = {}
        if recipe.kubernetes:
            facts = _download(go, recipe, env, workdir)
            version = staging_version(recipe.version)
            text = Path(str(facts["GoMod"])).read_text(encoding="utf-8")
            replaces = dict.fromkeys(staging_modules(text), version)
            ldflags = kubernetes_ldflags(recipe.version, commit=_commit(facts), built=_published(facts))
        (workdir / "go.mod").write_text(
            go_mod(
                name="rca-rollout/tools",
                go=GO_LANGUAGE,
                requires={recipe.module: recipe.version},
                tools=recipe.packages,
                replaces=replaces,
            ),
            encoding="utf-8",
        )
        what = f"{recipe.name} {recipe.version}"
        run_logged([go, "mod", "tidy", "-v"], title=f"modules of {what}", log=log, cwd=workdir, env=env)
        out = target / "bin"
        out.mkdir(parents=True)
        flags = ["-v", "-trimpath", "-ldflags", ldflags]
        if recipe.tags:
            flags += ["-tags", ",".join(recipe.tags)]
        run_logged(
            [go, "build", *flags, "-o", f"{out}/", *recipe.packages],
            title=f"compiling {what} (log: {log})",
            log=log,
            cwd=workdir,
            env=env,
        )
        shutil.copy(workdir / "go.mod", target / "go.mod")
        shutil.copy(workdir / "go.sum", target / "go.sum")
    for package in recipe.packages:
        built = out / _go_output_name(package)
        if built.name != binary_name(package):
            built.rename(out / binary_name(package))
    missing = [name for name in recipe.binaries if not (out / name).is_file()]
    if missing:
        raise ClusterError(
            f"go build of {recipe.name} ended well but made no {', '.join(missing)}; see {log}"
        )


def _go_output_name(package: str) -> str:
    """Go names a command after its directory, leaving a major version out."""
    parts = [part for part in package.split("/") if not (part[:1] == "v" and part[1:].isdigit())]
    return parts[-1]


def _download(go: str, recipe: Recipe, env: Mapping[str, str], workdir: Path) -> Mapping[str, object]:
    """Fetch one module; the facts say where its go.mod is, and when it was published."""
    answer = subprocess.run(
        [go, "mod", "download", "-json", f"{recipe.module}@{recipe.version}"],
        cwd=workdir,
        env={**env, "GOFLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        facts = json.loads(answer.stdout)
    except ValueError:
        facts = {}
    if answer.returncode != 0 or not isinstance(facts, dict) or "GoMod" not in facts:
        reason = facts.get("Error") if isinstance(facts, dict) else None
        raise ClusterError(
            f"The Go module {recipe.module} {recipe.version} cannot be fetched: "
            f"{reason or answer.stderr.strip()}"
        )
    return facts


def _info(facts: Mapping[str, object]) -> Mapping[str, object]:
    try:
        info = json.loads(Path(str(facts["Info"])).read_text(encoding="utf-8"))
    except (KeyError, OSError, ValueError):
        return {}
    return info if isinstance(info, dict) else {}


def _commit(facts: Mapping[str, object]) -> str:
    origin = _info(facts).get("Origin")
    return str(origin.get("Hash", "")) if isinstance(origin, dict) else ""


def _published(facts: Mapping[str, object]) -> str:
    """The release's own time stamp: the same binary whenever it is built."""
    return str(_info(facts).get("Time", "1970-01-01T00:00:00Z"))
