"""pyarrow: files of the Parquet format, whose columns are texts."""

from __future__ import annotations

from typing import Any

SOURCE = "signatures of https://arrow.apache.org/docs/python, 20"
VERSION = "20.0.0"
ROWS, GROUPS = 1_000, 2
WORDS = "some words of a text"


class _Column:
    """A column of a table."""

    def to_pylist(self) -> list[str]:
        """Return its values."""
        return [WORDS] * ROWS

    def to_numpy(self) -> Any:
        """Return its values as an array of objects."""
        import numpy

        return numpy.array(self.to_pylist(), dtype=object)

    def __len__(self) -> int:
        return ROWS


class _Table:
    """The rows of a file, or of a group of its rows."""

    num_rows = ROWS

    def column(self, name: Any) -> _Column:
        """Return a column."""
        return _Column()

    __getitem__ = column

    def __len__(self) -> int:
        return ROWS


class _Metadata:
    num_rows, num_row_groups = ROWS * GROUPS, GROUPS


class ParquetFile:
    """A file of groups of rows."""

    num_row_groups = GROUPS
    metadata = _Metadata()

    def __init__(self, source: Any, *args: Any, **kwargs: Any) -> None:
        self.source = source

    def read_row_group(self, i: int, columns: Any = None, **kwargs: Any) -> _Table:
        """Return a group of rows."""
        if not 0 <= i < GROUPS:
            raise IndexError(f"row group index {i} is not in [0, {GROUPS})")
        return _Table()

    def read(self, columns: Any = None, **kwargs: Any) -> _Table:
        """Return all rows."""
        return _Table()

    def iter_batches(self, batch_size: int = 65536, **kwargs: Any) -> Any:
        """Yield the rows."""
        yield from (_Table() for _ in range(GROUPS))


def read_table(source: Any, *args: Any, **kwargs: Any) -> _Table:
    """Return the rows of a file."""
    return _Table()


_PARQUET = {"ParquetFile": ParquetFile, "read_table": read_table}
MODULES: dict[str, dict[str, Any]] = {"": {}, "parquet": _PARQUET}
