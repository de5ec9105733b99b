"""datasets: rows of documented columns, or of the columns that the program names.

Files that are here (`json`, `csv`, `text`) are read. Of a name that nobody knows, the
rows have the columns that the program reads.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import Any

from shapewright.runtime.absent.stand_ins._hub_sets import (
    READERS,
    find_hub_set,
    read_files,
)
from shapewright.runtime.absent.stand_ins._row_sets import (
    ClassLabel,
    Dataset,
    DatasetDict,
    IterableDataset,
)
from shapewright.runtime.absent.stand_ins._rows import OpenColumns, OpenRow

SOURCE = "signatures of https://huggingface.co/docs/datasets, 4.0"
VERSION = "4.0.0"
ROWS = {"train": 1_000, "validation": 200, "test": 200}
"""Rows of a split whose number nobody knows."""


def _tell(what: str, by: str, basis: str) -> None:
    """Say what stands for a data set, through the module that the program imports."""
    tell = vars(sys.modules["datasets"]).get("_tell")
    if tell is not None:
        tell(what, by, basis)


def load_dataset(
    path: str, name: str | None = None, data_dir: str | None = None,
    data_files: Any = None, split: Any = None, streaming: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Return the rows of files, of a data set that is known, or of one that is not."""
    kind = IterableDataset if streaming else Dataset
    files = read_files(path, data_dir, data_files)
    if files:
        sets = {part: kind.from_list(rows) for part, rows in files.items()}
        _tell(f"the data set `{path}`", "the rows of its files", "read")
    else:
        sets = _make_hub_sets(kind, str(data_files) if path in READERS else path, name)
    if split is None:
        return DatasetDict(sets)
    if isinstance(split, list):
        return [_choose_split(sets, str(part), path) for part in split]
    return _choose_split(sets, str(split), path)


def _make_hub_sets(
    kind: type[Dataset], path: str, name: str | None = None
) -> dict[str, Any]:
    """Return the splits of a data set of the hub, without its data."""
    known = find_hub_set(path, name)
    sets = {}
    for part, count in (known.splits if known else ROWS).items():
        if known:
            rows = kind(count, known.make_row, list(known.columns))
            rows.labels = known.labels
        else:
            question = (
                f"the columns of `{path}` are not known here: install `datasets`, or "
                'give a file of a few rows with `load_dataset("json", '
                "data_files=FILE)`"
            )
            read = partial(_make_open_row, question)
            rows = kind(count, read, OpenColumns(question))
        rows.split, rows.is_alike = part, True
        sets[part] = rows
    if known:
        _tell(f"the data set `{path}`", known.says, "documented")
    else:
        counts = ", ".join(f"{count:,} in `{part}`" for part, count in ROWS.items())
        by = f"rows with the columns that the program names: {counts}"
        _tell(f"the data set `{path}`", by, "assumed")
    return sets


def _make_open_row(question: str, number: int) -> OpenRow:
    return OpenRow(number, question)


def _choose_split(sets: dict[str, Any], split: str, path: str) -> Any:
    """Return a split, or a part of dataset: ``train[:10%]``, ``train+test``."""
    parts = []
    for word in split.split("+"):
        match = re.fullmatch(r"\s*(\w+)(?:\[(-?\d*%?):(-?\d*%?)\])?\s*", word)
        if match is None or match[1] not in {**sets, "all": None}:
            raise ValueError(
                f'Unknown split "{word}". Should be dataset of {list(sets)}.'
            )
        rows = concatenate_datasets(list(sets.values())) if match[1] == "all" else (
            sets[match[1]]
        )  # fmt: skip
        if match[2] is not None:
            ends = [_find_place(end, rows.num_rows) for end in (match[2], match[3])]
            start = 0 if ends[0] is None else ends[0]
            stop = rows.num_rows if ends[1] is None else ends[1]
            rows = rows.select(range(start, min(stop, rows.num_rows)))
        parts.append(rows)
    return parts[0] if len(parts) == 1 else concatenate_datasets(parts)


def _find_place(word: str, count: int) -> int | None:
    """Return the row of an end of a part: ``10%``, ``-100``, ``""``."""
    if not word:
        return None
    share = word.endswith("%")
    place = round(int(word[:-1]) * count / 100) if share else int(word)
    return place + count if place < 0 else place


def concatenate_datasets(dsets: list[Any], *args: Any, **kwargs: Any) -> Any:
    """Return the rows of several data sets."""
    places = [
        (dataset, index) for dataset in dsets for index in range(dataset.num_rows)
    ]
    return dsets[0]._derive(
        len(places), lambda index: places[index][0]._get(places[index][1])
    )


def interleave_datasets(datasets: list[Any], *args: Any, **kwargs: Any) -> Any:
    """Return the rows of several data sets in turn, until one has no more."""
    least = min(dataset.num_rows for dataset in datasets)
    count = len(datasets)
    return datasets[0]._derive(
        least * count, lambda index: datasets[index % count]._get(index // count)
    )


def split_dataset_by_node(dataset: Any, rank: int, world_size: int) -> Any:
    """Return the rows of a rank."""
    return dataset.select(range(rank, dataset.num_rows, world_size))


def load_from_disk(dataset_path: str, *args: Any, **kwargs: Any) -> Any:
    """Return the rows of a folder that `save_to_disk` wrote."""
    sets = _make_hub_sets(Dataset, str(dataset_path))
    return sets["train"]


class _Feature:
    """What a column holds."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)


MODULES: dict[str, dict[str, Any]] = {
    "": {
        "Dataset": Dataset, "IterableDataset": IterableDataset,
        "DatasetDict": DatasetDict, "IterableDatasetDict": DatasetDict,
        "ClassLabel": ClassLabel, "load_dataset": load_dataset,
        "load_from_disk": load_from_disk, "interleave_datasets": interleave_datasets,
        "concatenate_datasets": concatenate_datasets, "Features": dict,
        **dict.fromkeys(("Value", "Sequence", "Image", "Audio", "List"), _Feature),
        "disable_caching": lambda: None, "enable_caching": lambda: None,
        "disable_progress_bars": lambda: None,
    },
    "distributed": {"split_dataset_by_node": split_dataset_by_node},
    "arrow_dataset": {"Dataset": Dataset}, "dataset_dict": {"DatasetDict": DatasetDict},
    "utils": {}, "utils.logging": {},
}  # fmt: skip
