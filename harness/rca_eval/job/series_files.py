"""Series kept in files beside the dataset: read once, checked against their digest, and from then on the same as
samples in the dataset itself.

A file is named relative to the dataset's folder and cannot lead out of it. `.json` holds `[[time, value], …]`, `.csv`
the header `time,value` and a row for each sample; a value is a number, or null (empty in CSV).
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from rca_eval.contract import ContractError, GroundTruth, Incident, Model, Reason, load_json, sha256, shown
from rca_eval.contract.groundtruth import Sample, Samples, Series, SeriesFile
from rca_eval.contract.jsontext import RefusedError, number
from rca_eval.contract.model import MIB
from rca_eval.job.files import read_bytes

FILE_LIMIT, TOTAL_LIMIT = 4 * MIB, 64 * MIB
HEADER = "time,value"


class _Document(Model):
    samples: tuple[Sample, ...]


class SeriesReader:
    """Reads the series files of one dataset; `folder` is the dataset's, None for one that lies in no folder."""

    def __init__(self, folder: Path | None, *, source: str = "the dataset") -> None:
        self._folder, self._source, self._left = folder, source, TOTAL_LIMIT

    def read(self, series: SeriesFile, where: str) -> Samples:
        """The samples of a file; `where` names the series in messages.

        Raises `ContractError`: DatasetInvalid (the name, the size or the content), DatasetChanged (the digest).
        """
        what = f"{self._source}: {where}: the series file"
        data = read_bytes(
            self._path(series.file, what),
            what=what,
            limit=min(FILE_LIMIT, self._left),
            reason=Reason.DATASET_INVALID,
        )
        self._left -= len(data)
        if (found := sha256(data)) != series.sha256:
            raise ContractError(
                Reason.DATASET_CHANGED,
                f"{what} {series.file} has sha256 {found[:12]}…, but the dataset says {series.sha256[:12]}…; restore "
                f"the file, or write its new digest {found} into the dataset.",
            )
        return Samples(metric=series.metric, samples=_samples(data, f"{what} {series.file}", series.file))

    def _path(self, name: str, what: str) -> Path:
        path = PurePosixPath(name)
        if not name.isprintable() or "\\" in name or path.suffix not in (".json", ".csv"):
            raise _refused(what, name, "needs a plain name that ends in .json or .csv")
        if path.is_absolute() or ".." in path.parts:
            raise _refused(what, name, "must be named relative to the dataset's folder, without `..`")
        if self._folder is None:
            raise _refused(what, name, "has no folder to be looked for in; put the samples into the dataset")
        try:
            folder = self._folder.resolve(strict=True)
            # A mounted ConfigMap is made of links, all within its folder.
            found = (folder / path).resolve(strict=True)
        except FileNotFoundError:
            raise _refused(
                what, name, f"does not exist in {self._folder}; put it beside the dataset"
            ) from None
        except (OSError, RuntimeError) as error:
            raise _refused(
                what, name, f"cannot be found ({getattr(error, 'strerror', None) or error})"
            ) from None
        if not found.is_relative_to(folder):
            raise _refused(
                what, name, "is a link that leads out of the dataset's folder; put the file itself there"
            )
        return found


def with_files(truth: GroundTruth, folder: Path | None, *, source: str = "the dataset") -> GroundTruth:
    """The dataset with the samples of its series files in it. Raises `ContractError` as `SeriesReader.read`."""
    reader = SeriesReader(folder, source=source)
    kept = tuple(_resolved(incident, reader) for incident in truth.incidents)
    return truth if kept == truth.incidents else truth.model_copy(update={"incidents": kept})


def series_where(incident: str, service: str, metric: str) -> str:
    return f"{incident}, series {shown(metric)} of {service}"


def _resolved(incident: Incident, reader: SeriesReader) -> Incident:
    telemetry = incident.telemetry
    if telemetry is None or not any(_files(incident)):
        return incident
    rows = {
        key: row.model_copy(
            update={
                "series": tuple(
                    reader.read(one, series_where(incident.id, key, one.metric))
                    if isinstance(one, SeriesFile)
                    else one
                    for one in row.series
                )
            }
        )
        for key, row in telemetry.services.items()
    }
    return incident.model_copy(update={"telemetry": telemetry.model_copy(update={"services": rows})})


def _files(incident: Incident) -> Iterator[Series]:
    for row in incident.telemetry.services.values() if incident.telemetry else ():
        yield from (one for one in row.series if isinstance(one, SeriesFile))


def _samples(data: bytes, what: str, name: str) -> tuple[tuple[int, object], ...]:
    if name.endswith(".csv"):
        value: object = list(_rows(data, what))
    else:
        value = load_json(data, source=what, reason=Reason.DATASET_INVALID, limit=FILE_LIMIT)
    return _Document.read({"samples": value}, source=what, reason=Reason.DATASET_INVALID).samples


def _rows(data: bytes, what: str) -> Iterator[list[object]]:
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ContractError(
            Reason.DATASET_INVALID, f"{what} is not UTF-8 text (byte {error.start}); save it as UTF-8."
        ) from None
    if not lines or lines[0].strip() != HEADER:
        found = shown(lines[0]) if lines else "empty"
        raise ContractError(
            Reason.DATASET_INVALID, f"{what} begins with {found}; its first line must be `{HEADER}`."
        )
    for position, line in enumerate(lines[1:], start=2):
        cells = [cell.strip() for cell in line.split(",")]
        try:
            at, value = cells
            yield [number(at), number(value) if value else None]
        except RefusedError as error:
            raise ContractError(
                Reason.DATASET_INVALID,
                f"{what}, line {position}, {error}; write whole Unix seconds and a number, or nothing for an unknown "
                "value.",
            ) from None
        except ValueError:
            raise ContractError(
                Reason.DATASET_INVALID,
                f"{what}, line {position}, has {len(cells)} columns; there are two, `{HEADER}`.",
            ) from None


def _refused(what: str, name: str, text: str) -> ContractError:
    return ContractError(Reason.DATASET_INVALID, f"{what} {shown(name)} {text}.")
