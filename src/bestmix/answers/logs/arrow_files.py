"""Logs through Arrow, where it is installed: Parquet files, and CSV files several times faster."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from bestmix import checks
from bestmix.answers.logs.columns import Column, Labels, Values, merged, places
from bestmix.answers.logs.csv_files import Layout, read_csv, text_of
from bestmix.arrays import Floats

ROWS = 2**16  # of a Parquet file that are held at a time
BLOCK = 2**20  # bytes of a CSV file that are held at a time


@dataclass(frozen=True)
class ArrowColumn:
    """Some rows of a column; whatever Arrow does not read as Python does is left to Python."""

    values: Any
    text: Callable[[Any], str] = str

    def __len__(self) -> int:
        return len(self.values)

    def labels(self) -> Labels:
        """The rows as names."""
        import pyarrow

        if self.values.null_count or not pyarrow.types.is_string(self.values.type):
            return self._objects().labels()
        found = self.values.dictionary_encode()
        return merged(np.from_dlpack(found.indices).astype(np.int64), map(self.text, found.dictionary.to_pylist()))

    def numbers(self) -> Floats:
        """The rows as numbers."""
        from pyarrow import ArrowInvalid, float64, types

        kind = self.values.type
        machine = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
        if not (machine or types.is_string(kind)):
            return self._objects().numbers()
        try:
            found = self.values.cast(float64(), safe=not machine)
        except ArrowInvalid:
            return self._objects().numbers()
        # Arrow's own conversion to NumPy loads pandas, and so does filling in what is missing.
        found = found.fill_null(math.nan) if found.null_count else found
        result = np.asarray(np.from_dlpack(found), dtype=np.float64)
        # Arrow knows more spellings of NaN than Python does.
        return self._objects().numbers() if not machine and np.isnan(result).any() else result

    def _objects(self) -> Values:
        return Values(self.values.to_pylist(), self.text)


def read_arrow_csv(file: BinaryIO, name: str, layout: Layout) -> Iterator[dict[str, Column]]:
    """As ``read_csv``, which takes over at the first row that Arrow refuses."""
    import pyarrow

    done = 0
    try:
        for chunk in _batches(file, layout):
            done += len(chunk)
            yield {column: ArrowColumn(chunk.column(str(i)), text_of) for column, i in layout.columns.items()}
    except pyarrow.ArrowInvalid:
        yield from read_csv(file, name, layout, done)


def _batches(file: BinaryIO, layout: Layout) -> Iterator[Any]:
    import pyarrow
    from pyarrow import csv

    names = [str(i) for i in range(layout.width)]
    wanted = [str(i) for i in layout.columns.values()]
    file.seek(0)
    return csv.open_csv(  # type: ignore[no-any-return]
        pyarrow.PythonFile(file, "r"),
        csv.ReadOptions(block_size=BLOCK, column_names=names, skip_rows_after_names=1),
        csv.ParseOptions(delimiter=layout.separator, newlines_in_values=True),
        csv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(wanted, pyarrow.string()), strings_can_be_null=False
        ),
    )


def read_parquet(file: BinaryIO, name: str, wanted: Sequence[str]) -> Iterator[dict[str, Column]]:
    """The wanted columns, some rows at a time."""
    with _readable(name):
        from pyarrow import parquet

        found = parquet.ParquetFile(file)
        batches = found.iter_batches(ROWS, columns=(columns := places(found.schema_arrow.names, wanted)))
    while True:
        with _readable(name):
            batch = next(batches, None)
        if batch is None:
            return
        yield {wish: ArrowColumn(batch.column(column)) for wish, column in zip(wanted, columns, strict=True)}


def parquet_table(file: BinaryIO, name: str) -> dict[str, list[Any]]:
    """All columns of a table that fits into memory."""
    with _readable(name):
        from pyarrow import parquet

        return dict(parquet.ParquetFile(file).read().to_pydict())


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except checks.InvalidInput:
        raise
    except ImportError:
        raise checks.InvalidInput("log", "reading Parquet needs pyarrow", "install bestmix[frames]") from None
    except (OSError, ValueError) as error:
        raise checks.InvalidInput("log", f"{name} is not a readable Parquet file ({error})", "write it again") from None
