"""A rebuild is skipped exactly when nothing the image is made from has changed."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hack.cluster import buildah, ociarchive
from hack.cluster.contenthash import content_hash
from hack.cluster.dockerfile import context_sources
from hack.cluster.dockerignore import ignored, parse
from hack.cluster.errors import ClusterError
from hack.cluster.images import normalized, parse_arguments

DOCKERFILE = """\
ARG BASE=python:3.13-slim
FROM ${BASE} AS build
# COPY commented /out
COPY locks/operator.txt \\
     /src/
COPY --chown=1:1 operator/ /src/operator
FROM ${BASE}
COPY --from=build /opt/venv /opt/venv
"""


@pytest.fixture
def context(tmp_path: Path) -> Path:
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "operator.txt").write_text("kopf==1")
    (tmp_path / "operator" / "__pycache__").mkdir(parents=True)
    (tmp_path / "operator" / "main.py").write_text("print(1)")
    (tmp_path / "docs.md").write_text("words")
    (tmp_path / ".dockerignore").write_text("**/__pycache__\n")
    return tmp_path


def _hash(context: Path, arguments: dict[str, str] | None = None, base: str = "base") -> str:
    return content_hash(context / "Dockerfile", context, arguments or {}, base)


def _edit_a_copied_file(context: Path) -> None:
    (context / "operator" / "main.py").write_text("print(2)")


def _add_a_file(context: Path) -> None:
    (context / "operator" / "new.py").write_text("")


def _rename_a_file(context: Path) -> None:
    (context / "operator" / "main.py").rename(context / "operator" / "other.py")


def _make_a_file_executable(context: Path) -> None:
    (context / "operator" / "main.py").chmod(0o755)


def _turn_a_file_into_a_link(context: Path) -> None:
    (context / "operator" / "main.py").unlink()
    (context / "operator" / "main.py").symlink_to("elsewhere.py")


def _edit_the_dockerfile(context: Path) -> None:
    (context / "Dockerfile").write_text(DOCKERFILE + "USER 1\n")


def _stop_ignoring(context: Path) -> None:
    (context / ".dockerignore").unlink()
    (context / "operator" / "__pycache__" / "x.pyc").write_bytes(b"x")


CHANGES = [
    _edit_a_copied_file,
    _add_a_file,
    _rename_a_file,
    _make_a_file_executable,
    _turn_a_file_into_a_link,
    _edit_the_dockerfile,
    _stop_ignoring,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
def test_every_change_of_what_goes_into_an_image_changes_the_hash(
    context: Path, change: Callable[[Path], None]
) -> None:
    before = _hash(context)
    change(context)
    assert _hash(context) != before


def test_build_arguments_and_the_base_change_the_hash(context: Path) -> None:
    assert (
        len(
            {_hash(context), _hash(context, {"A": "1"}), _hash(context, {"A": "2"}), _hash(context, base="b")}
        )
        == 4
    )


def test_what_does_not_go_into_the_image_changes_nothing(context: Path) -> None:
    before = _hash(context)
    (context / "docs.md").write_text("other words")
    (context / "operator" / "__pycache__" / "main.pyc").write_bytes(b"compiled")
    os.utime(context / "operator" / "main.py", (1, 1))
    assert _hash(context) == before


def test_a_missing_dockerfile_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no Dockerfile"):
        _hash(tmp_path)


@pytest.mark.parametrize(
    ("line", "sources"),
    [
        ("COPY a b /dst", {"a", "b"}),
        ("COPY ./a/ /dst", {"a"}),
        ('COPY ["with space", "/dst"]', {"with space"}),
        ("COPY . /dst", {"."}),
        ("COPY --from=build /x /dst", set()),
        ("COPY ${WHERE} /dst", {"."}),
        ("COPY ../up /dst", {"."}),
        ("copy *.toml /dst", {"*.toml"}),
        ("ADD https://example.com/x /dst", set()),
        ("RUN --mount=type=bind,source=locks,target=/l pip install", {"locks"}),
        ("RUN --mount=type=bind,target=/ctx make", {"."}),
        ("RUN --mount=type=cache,target=/c --mount=type=bind,from=build,source=/w,target=/w x", set()),
        ("RUN <<EOF cat", set()),
        ("COPY <<EOF /dst", {"."}),
        ("ONBUILD COPY x /y", {"."}),
    ],
)
def test_the_files_a_dockerfile_takes_from_its_context_are_known(line: str, sources: set[str]) -> None:
    assert context_sources(f"FROM scratch\n{line}\n") == sources


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        (".git/config", True),
        ("a/b/__pycache__/x.pyc", True),
        ("__pycache__/x.pyc", True),
        ("notes.md", True),
        ("README.md", False),
        ("docs/notes.md", False),
        ("src/main.py", False),
        ("gitlike", False),
    ],
)
def test_dockerignore_is_read_as_docker_reads_it(path: str, verdict: bool) -> None:
    rules = parse("# comment\n/.git\n**/__pycache__\n*.md\n!README.md\n\n")
    assert ignored(path, rules) is verdict


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("x:1", "docker.io/library/x:1"),
        ("team/x:1", "docker.io/team/x:1"),
        ("localhost/x:1", "localhost/x:1"),
        ("ghcr.io/team/x", "ghcr.io/team/x:latest"),
        ("localhost:5000/x", "localhost:5000/x:latest"),
    ],
)
def test_an_image_is_stored_under_the_name_kubelet_asks_for(image: str, full: str) -> None:
    assert normalized(image) == full


@pytest.mark.parametrize("image", ["", "Upper:1", "x y", "../x"])
def test_what_is_no_image_name_is_refused(image: str) -> None:
    with pytest.raises(ClusterError):
        normalized(image)


def test_build_arguments_are_pairs() -> None:
    assert parse_arguments(["A=1", "B=x=y", "C="]) == {"A": "1", "B": "x=y", "C": ""}
    with pytest.raises(ClusterError):
        parse_arguments(["A"])


def test_an_archive_has_one_digest_however_often_it_is_written(tmp_path: Path) -> None:
    layer = tmp_path / "layer.tar"
    with tarfile.open(layer, "w") as archive:
        archive.addfile(tarfile.TarInfo("file"))
    digests = set()
    for name in ("a.tar", "b.tar"):
        ociarchive.write(tmp_path / name, name="localhost/x:1", layer=layer, config={})
        digests.add(ociarchive.digest_of(tmp_path / name))
    assert len(digests) == 1


def test_what_is_no_archive_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"nothing of the kind")
    with pytest.raises(ClusterError, match="no OCI archive"):
        ociarchive.digest_of(tmp_path / "x.tar")


def _store(root: Path, text: str) -> Path:
    (root / "store" / "overlay-images").mkdir(parents=True)
    (root / "store" / "overlay-images" / "images.json").write_text(text)
    return root / "store"


@pytest.mark.parametrize(
    ("text", "emptied"),
    [("[]", False), ("[{}, {}]", False), ("[{}, {}, {}]", True), ("[{", True), ("", True)],
)
def test_the_builders_store_is_emptied_when_it_is_full_or_damaged(
    tmp_path: Path, text: str, emptied: bool
) -> None:
    store = _store(tmp_path, text)
    assert buildah.trim(store, limit=2) is emptied
    assert store.exists() is not emptied
    assert not buildah.trim(tmp_path / "never-used")
