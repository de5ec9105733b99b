"""Rehearsals where `datasets` or `grain` is not installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is not None, reason="datasets is installed"
)

KNOWN = """\
    import torch
    from torch import nn
    from datasets import load_dataset
    from torch.utils.data import DataLoader

    data = load_dataset("imdb")
    assert list(data) == ["train", "test", "unsupervised"]
    assert data["train"].column_names == ["text", "label"]
    assert data.num_rows == {"train": 25_000, "test": 25_000, "unsupervised": 50_000}
    classes = data["train"].features["label"].num_classes

    def encode(batch):
        return {"ids": [[1] * 32 for _ in batch["text"]]}

    train = data["train"].map(encode, batched=True, remove_columns=["text"])
    train.set_format("torch", columns=["ids", "label"])
    assert len(train) == 25_000 and train.column_names == ["label", "ids"]
    loader = DataLoader(train, batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Embedding(100, 8), nn.Flatten(), nn.Linear(256, {width}))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for epoch in range(3):
        for batch in loader:
            loss = nn.functional.cross_entropy(model(batch["ids"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert classes == 2 and len(loader) == 391
    """


def test_a_known_data_set_has_its_documented_columns(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, KNOWN.replace("{width}", "2"))
    assert [each.message for each in report.findings] == []
    told = [each.message for each in report.assumptions]
    assert any("25,000 rows in `train`" in each for each in told)
    (found, *_) = rehearsed(tmp_path, KNOWN.replace("{width}", "1")).findings
    assert found.span is not None
    assert found.span.line == 23


def test_rows_of_unknown_columns_have_those_that_the_program_names(
    tmp_path: Path,
) -> None:
    text = """\
        from datasets import load_dataset
        rows = load_dataset("someone/something", split="train")
        lengths = rows.map(lambda row: {"n": len(row["prompt"])}, batched=False)
        assert isinstance(lengths[0]["n"], int)
        for row in rows.take(2):
            row["label"] + 1
        rows.column_names[0]
        """
    report = rehearsed(tmp_path, text)
    (found,) = report.findings
    assert found.span is not None
    assert (found.code, found.span.line) == ("not-here", 7)
    assert "the columns of `someone/something` are not known here" in found.message
    told = [each.message for each in report.assumptions]
    assert any("columns that the program names" in each for each in told)


def test_files_that_are_here_are_read(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": 1, "b": [2, 3]}\n{"a": 4, "b": [5]}\n')
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n")
    text = f"""\
        from datasets import load_dataset, concatenate_datasets
        folder = {str(tmp_path)!r}
        rows = load_dataset("json", data_files=folder + "/rows.jsonl")["train"]
        assert rows.column_names == ["a", "b"] and len(rows) == 2
        assert rows[1] == {{"a": 4, "b": [5]}} and rows["a"] == [1, 4]
        assert rows[:2] == {{"a": [1, 4], "b": [[2, 3], [5]]}}
        assert rows.with_format("torch")[0]["b"].shape == (2,)
        longer = rows.map(
            lambda batch: {{"c": [1, 2, 3]}}, batched=True, remove_columns=["a", "b"]
        )
        assert len(longer) == 3 and longer.column_names == ["c"]
        assert len(rows.filter(lambda row: row["a"] > 1)) == 1
        both = concatenate_datasets([rows, rows])
        assert len(both.train_test_split(0.25)["test"]) == 1
        half = load_dataset("csv", data_files={{"test": folder + "/rows.csv"}})
        assert list(half) == ["test"] and half["test"][0] == {{"x": 1, "y": 2}}
        stream = rows.to_iterable_dataset().map(lambda row: {{"a": row["a"] * 2}})
        assert [row["a"] for row in stream] == [2, 8]
        rows[2]
        """
    report = rehearsed(tmp_path, text)
    (found,) = report.findings
    assert "out of bounds for size 2" in found.message
    assert found.span is not None
    assert found.span.line == 19


def test_a_split_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    text = """\
        from datasets import load_dataset
        assert len(load_dataset("mnist", split="train[:10%]+test")) == 16_000
        load_dataset("mnist", split="validation")
        """
    report = rehearsed(tmp_path, text)
    (found,) = report.findings
    assert found.span is not None
    assert found.span.line == 3
    assert 'Unknown split "validation"' in found.message


def test_rows_of_grain_are_packed_and_batched(tmp_path: Path) -> None:
    text = """\
        import numpy as np
        import grain.python as grain
        rows = grain.MapDataset.source([np.arange(n) for n in (3, 4, 5, 6)])
        pairs = rows.map(lambda x: {"ids": x}).repeat(2)
        assert len(pairs) == 8 and pairs[5]["ids"].shape == (4,)
        packed = grain.experimental.ConcatThenSplitIterDataset(
            pairs.to_iter_dataset(), length_struct={"ids": 6}
        )
        batch = next(iter(packed.batch(2, drop_remainder=True)))
        assert batch["ids"].shape == batch["ids_segment_ids"].shape == (2, 6)
        assert len(rows[1:3]) == 2 and len(rows.batch(3)) == 2
        assert len(rows.batch(3, drop_remainder=True)) == 1
        assert [len(x) for x in rows.filter(lambda x: len(x) > 4)] == [5, 6]
        drawn = rows.shuffle(seed=1).random_map(lambda x, rng: rng.random(), seed=2)
        assert 0 <= drawn[0] < 1
        """
    report = rehearsed(tmp_path, text)
    assert [each.message for each in report.findings] == []
