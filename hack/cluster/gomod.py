"""go.mod files that have no Go code of their own: `tool` directives name the commands, Go does the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_STAGING = re.compile(r"^\s*(?:replace\s+)?(k8s\.io/[\w./-]+)\s+=>\s+\./staging/src/\S+\s*$", re.MULTILINE)


def staging_modules(kubernetes_go_mod: str) -> list[str]:
    """The modules that Kubernetes' own go.mod takes from its source tree; we name them by version."""
    return sorted(set(_STAGING.findall(kubernetes_go_mod)))


def staging_version(kubernetes_version: str) -> str:
    """k8s.io/kubernetes v1.36.3 is published together with k8s.io/api and friends v0.36.3."""
    if not kubernetes_version.startswith("v1."):
        raise ValueError(f"{kubernetes_version!r} is no Kubernetes version such as v1.36.3")
    return "v0." + kubernetes_version.removeprefix("v1.")


def go_mod(
    *,
    name: str,
    go: str,
    requires: Mapping[str, str],
    tools: Sequence[str],
    replaces: Mapping[str, str] | None = None,
) -> str:
    """The text of a go.mod."""
    lines = [f"module {name}", "", f"go {go}", ""]
    lines += [f"require {module} {version}" for module, version in sorted(requires.items())]
    lines += [""] + [f"tool {package}" for package in tools]
    if replaces:
        lines += [""] + [
            f"replace {module} => {module} {version}" for module, version in sorted(replaces.items())
        ]
    return "\n".join(lines) + "\n"


def kubernetes_ldflags(version: str, *, commit: str, built: str) -> str:
    """Linker flags that tell the binaries their version; without them they report one nobody can parse."""
    major, minor, _ = version.removeprefix("v").split(".", 2)
    facts = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "gitCommit": commit,
        "buildDate": built,
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    flags = [f"-X {package}.{key}={value}" for package in packages for key, value in facts.items()]
    return " ".join(["-s", "-w", *flags])
