"""From the bytes of a dataset to all that is wrong with it. Nothing is written, and the first defect is not the last."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from rca_eval.contract import (
    Baseline,
    ContractError,
    GroundTruth,
    Incident,
    Reason,
    load_json,
    one_line,
    sha256,
)
from rca_eval.contract.groundtruth import DATASET_LIMIT, Series, SeriesFile
from rca_eval.contract.model import path as spelled
from rca_eval.gate import GatePolicy
from rca_eval.job.series_files import SeriesReader
from rca_eval.lint.finding import Finding, Found, Subject, at
from rca_eval.lint.rules import ANY_WINDOW, OF_THE_SET, WITH_WINDOW
from rca_eval.lint.schema import Checked, check_schema, incident_id
from rca_eval.lint.source import BROKEN, Source

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Options:
    """What a dataset is held against besides itself; `folder` is where its series files lie, `now` Unix seconds."""

    folder: FilePath | None = None
    now: int | None = None
    expected: int | None = None
    baseline: Baseline | None = None
    policy: GatePolicy | None = None


@dataclass(frozen=True)
class Report:
    """All findings, errors first, and the number of incidents that the file holds."""

    findings: tuple[Finding, ...]
    incidents: int

    @property
    def errors(self) -> int:
        return sum(one.level == "error" for one in self.findings)

    def strict(self) -> "Report":
        """The same with every warning an error."""
        rows = tuple(one.model_copy(update={"level": "error"}) for one in self.findings)
        return Report(rows, self.incidents)


def check(data: bytes, source: str, options: Options | None = None) -> Report:
    """Everything that is wrong with a dataset, each with its line. Never raises for what is in the bytes."""
    options = options or Options()
    text, value, read, found = _read(data, source)
    checked = check_schema(value)
    found += [*checked.found, *_rules(checked, source, options), *_held_against(checked, data, options)]
    places = Source(text, [path for one in found for path in (one.path, one.also) if path])
    findings = [_finding(one, value, source, places) for one in found]
    for problem in read.problems if read else ():
        line, column = places.position(problem.offset)
        told = _finding(Found(problem.code, problem.path, problem.message, problem.fix), value, source, None)
        findings.append(told.model_copy(update={"line": line, "column": column}))
    return Report(_ordered(findings), checked.count)


def lint(truth: GroundTruth, *, now: int | None = None) -> list[Finding]:
    """The findings of a dataset that was read already; without lines."""
    subject = Subject(tuple(enumerate(truth.incidents)), truth.window_seconds, truth.aliases, now)
    value = {"incidents": [{"id": one.id} for one in truth.incidents]}
    rules = (*ANY_WINDOW, *WITH_WINDOW, *OF_THE_SET)
    return list(_ordered([_finding(found, value, None, None) for rule in rules for found in rule(subject)]))


def _read(data: bytes, source: str) -> tuple[str, Any, Source | None, list[Found]]:
    """The text, its value, the tolerant reading where the strict one refuses, and what is wrong with the whole."""
    try:
        value = load_json(data, source=source, reason=Reason.DATASET_INVALID, limit=DATASET_LIMIT)
        return data.decode("utf-8"), value, None, []
    except ContractError as error:
        message, _, fix = error.message.removeprefix(source).strip().rstrip(".").partition("; ")
    refused = Found("E-SYNTAX", (), message, fix or "write the file again")
    if len(data) > DATASET_LIMIT or not data.strip():
        return "", BROKEN, None, [refused]
    try:
        text = data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError:
        return "", BROKEN, None, [refused]
    read = Source(text)
    told = [refused] if data.startswith(BOM) or not read.problems else []
    return text, read.value, read, told


def _rules(checked: Checked, source: str, options: Options) -> Iterable[Found]:
    reader = SeriesReader(options.folder, source=source)
    incidents = []
    for position, one in checked.incidents:
        whole, problems = _with_files(position, one, reader)
        incidents.append((position, whole))
        yield from problems
    if not incidents:
        return
    rules = [*ANY_WINDOW]
    if checked.window is not None:
        whole_set = len(incidents) == checked.count
        rules += [*WITH_WINDOW, *(OF_THE_SET if whole_set else ())]
    subject = Subject(
        tuple(incidents),
        checked.window or 0,
        checked.aliases or {},
        options.now,
        options.baseline,
        options.policy,
    )
    for rule in rules:
        yield from rule(subject)


def _with_files(position: int, one: Incident, reader: SeriesReader) -> tuple[Incident, list[Found]]:
    """The incident with the samples of its files; a file that cannot be read is told, and its series left out."""
    if one.telemetry is None:
        return one, []
    found: list[Found] = []
    rows = {}
    for key, row in one.telemetry.services.items():
        kept: list[Series] = []
        for nth, series in enumerate(row.series):
            if not isinstance(series, SeriesFile):
                kept.append(series)
                continue
            try:
                kept.append(reader.read(series, f"{key}/{series.metric}"))
            except ContractError as error:
                message, _, fix = error.message.rstrip(".").partition(": the series file ")[2].partition("; ")
                path = at(position, "telemetry", "services", key, "series", nth, "file")
                told = f"{key}/{series.metric}: the series file {message}"
                found.append(Found("E-SERIES-FILE", path, told, fix or "correct the file or its name"))
        rows[key] = row.model_copy(update={"series": tuple(kept)})
    return one.model_copy(update={"telemetry": one.telemetry.model_copy(update={"services": rows})}), found


def _held_against(checked: Checked, data: bytes, options: Options) -> Iterable[Found]:
    if options.expected is not None and checked.count != options.expected:
        text = f"{checked.count} incidents were read, but {options.expected} were expected"
        yield Found("E-COUNT", ("incidents",), text, "find out what was lost or added on the way")
    baseline, digest = options.baseline, sha256(data)
    if baseline is not None and baseline.dataset.sha256 != digest:
        text = f"the baseline was measured on dataset {baseline.dataset.sha256[:12]}…, this one is {digest[:12]}…"
        fix = "write a new baseline with `rca-eval baseline write`, or restore the dataset"
        yield Found("E-BASELINE", (), text, fix)


def _finding(found: Found, value: Any, source: str | None, places: Source | None) -> Finding:
    line, column = places.place(found.path) if places else (None, None)
    first = ""
    if found.also is not None:
        where = f"on line {places.place(found.also)[0]}" if places else f"as {spelled(found.also)}"
        first = f", first {where}"
    return Finding(
        level="error" if found.code.startswith("E-") else "warning",
        code=found.code,
        incident=incident_id(value, found.path),
        message=one_line(f"{found.message}{first}"),
        fix=one_line(found.fix),
        path=one_line(spelled(found.path)) if found.path else "",
        file=source,
        line=line,
        column=column,
    )


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda one: (one.level, one.line or 0)))
