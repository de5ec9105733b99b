"""The story of a rehearsal, as it stands in a terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from expecttest import assert_expected_inline

from shapewright.record.ops import Assumption
from shapewright.record.report import Moment, Rehearsal, Report
from shapewright.views.terminal.rehearsal import format_story
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset


    class TranslatedSentences(Dataset):
        def __len__(self):
            return 12_345

        def __getitem__(self, index):
            size = 32
            return {
                "source": torch.zeros(size, dtype=torch.int64),
                "target": torch.zeros(size, dtype=torch.int64),
                "mask": torch.zeros(size, dtype=torch.bool),
            }


    model = nn.Sequential(nn.Embedding(100, 16), nn.Linear(16, 100))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    steps = 3 * 194
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=steps)
    for epoch in range(3):
        model.train()
        for number, batch in enumerate(DataLoader(TranslatedSentences(), 64)):
            optimizer.zero_grad()
            scores = model(batch["source"]).flatten(0, 1)
            loss = nn.functional.cross_entropy(scores, batch["target"].flatten())
            loss.backward()
            optimizer.step()
            scheduler.step()
            if number % 50 == 0:
                print(loss.item())
        torch.save(model.state_dict(), f"checkpoints-of-this-run-epoch-{epoch}.pt")
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("story")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = rehearsed(Path(), SCRIPT)
    assert found.rehearsal is not None
    return replace(found, rehearsal=replace(found.rehearsal, seconds=1.25))


def shown(report: Report, width: int) -> str:
    made = format_story(report, width, unicode=False)
    told = re.split(r"\n(?:assumed|error|warning)", made)[0]
    assert max(map(len, told.splitlines())) <= width
    return told


def test_it_is_drawn_with_lines(report: Report) -> None:
    assert "  24 │   model.train() " in format_story(report)


def test_at_80_columns_no_shape_is_cut(report: Report) -> None:
    assert_expected_inline(
        shown(report, 80),
        """\
train.py  on cpu: 15 optimizer steps in 1.2 s, with no data

train.py
  23 | for epoch in range(3):                turns 1-3 of 3
  24 |   model.train()                       Sequential in training
  25 |   for number, batch in enumerate(~    batches 1-2, 50-51, 193 of 193
     |                                       TranslatedSentences, 12,345 items
     |                                       source (64, 32) i64,
     |                                         target (64, 32) i64,
     |                                         mask (64, 32) bool
     |                                       source (57, 32) i64,
     |                                         target (57, 32) i64,
     |                                         mask (57, 32) bool
  26 |     optimizer.zero_grad()             AdamW
  29 |     loss.backward()                   loss () f32,
     |                                         gradients of 3 of 3 parameters
  30 |     optimizer.step()                  AdamW
  31 |     scheduler.step()                  OneCycleLR, 582 steps at most
  34 |   torch.save(model.state_dict(), f"~  checkpoints-of-this-run-epoch-0.pt,
     |                                       ~-of-this-run-epoch-1.pt,
     |                                       ~-of-this-run-epoch-2.pt,
     |                                         kept for this run only
""",
    )


def test_at_200_columns_a_shape_has_a_line(report: Report) -> None:
    assert_expected_inline(
        shown(report, 200),
        """\
train.py  on cpu: 15 optimizer steps in 1.2 s, with no data

train.py
  23 | for epoch in range(3):                                                         turns 1-3 of 3
  24 |   model.train()                                                                Sequential in training
  25 |   for number, batch in enumerate(DataLoader(TranslatedSentences(), 64)):       batches 1-2, 50-51, 193 of 193
     |                                                                                TranslatedSentences, 12,345 items
     |                                                                                source (64, 32) i64, target (64, 32) i64, mask (64, 32) bool
     |                                                                                source (57, 32) i64, target (57, 32) i64, mask (57, 32) bool
  26 |     optimizer.zero_grad()                                                      AdamW
  29 |     loss.backward()                                                            loss () f32, gradients of 3 of 3 parameters
  30 |     optimizer.step()                                                           AdamW
  31 |     scheduler.step()                                                           OneCycleLR, 582 steps at most
  34 |   torch.save(model.state_dict(), f"checkpoints-of-this-run-epoch-{epoch}.pt")  checkpoints-of-this-run-epoch-0.pt, checkpoints-of-this-run-epoch-1.pt, checkpoints-of-this-run-epoch-2.pt, kept
     |                                                                                  for this run only
""",  # noqa: E501
    )


@pytest.mark.parametrize("width", [44, 60, 100, 132])
def test_every_width_is_kept(report: Report, width: int) -> None:
    assert "(57, 32) bool" in shown(report, width)


def test_several_files_and_long_names() -> None:
    """Files as headings, also where their names are longer than a line."""
    long = "packages/" * 12 + "engine.py"
    step = Moment("step", long, 40, "AdamW", 3)
    batches = Moment(
        "batches", "train.py", 7, "Rows", 3, (1, 2, 57), 1_000_000, ("(8, 4) float32",)
    )
    loop = Moment("loop", "train.py", 7, "", 1, (1, 2, 57), None, (), (batches, step))
    saves = tuple(Moment("save", "train.py", 9, f"{n}.pt") for n in range(7))
    told = Rehearsal(
        "cuda", Moment("run", inner=(loop, *saves)),
        tuple(f"train.py:{n}: the loop ended after 6 of 90 turns" for n in range(11)),
        tuple(f"--option-{n}=value" for n in range(6)), 2.0, 3,
    )  # fmt: skip
    made = Report("train.py", (), rehearsal=told)
    assert_expected_inline(
        shown(made, 60),
        """\
train.py --option-0=value --option-1=value --option-2=value
--option-3=value --option-4=value --option-5=value
on cuda: 3 optimizer steps in 2.0 s, with no data

train.py
   7 |          batches 1-2, 57 of 1,000,000
     |          Rows
     |          (8, 4) f32
~/packages/packages/packages/packages/packages/engine.py
  40 |   AdamW  AdamW
train.py
   9 | 0.pt     0.pt, 1.pt, 2.pt, 3.pt and 3 more, kept
     |            for this run only
not run      train.py:0: the loop ended after 6 of 90 turns
not run      train.py:1: the loop ended after 6 of 90 turns
not run      train.py:2: the loop ended after 6 of 90 turns
not run      train.py:3: the loop ended after 6 of 90 turns
not run      train.py:4: the loop ended after 6 of 90 turns
not run      train.py:5: the loop ended after 6 of 90 turns
not run      train.py:6: the loop ended after 6 of 90 turns
not run      train.py:7: the loop ended after 6 of 90 turns
not run      3 more, in the JSON

train.py: no findings
""",
    )


def test_many_shapes_of_batches_are_ranges() -> None:
    shapes = tuple(f"({n},) int64, (2, {2 * n}) float32" for n in range(55, 61))
    turns = tuple(range(1, 8))
    batches = Moment(
        "batches", "train.py", 7, "Graphs", 1, turns, 7, (*shapes, "None"), (), 7
    )
    told = Rehearsal("cpu", Moment("run", inner=(batches,)), (), (), 2.0, 3)
    assert_expected_inline(
        shown(Report("train.py", (), rehearsal=told), 80),
        """\
train.py  on cpu: 3 optimizer steps in 2.0 s, with no data

train.py
   7 | Graphs  batches 1-7 of 7
     |         Graphs
     |         (55-60,) i64, (2, 110-120) f32, 6 shapes
     |         None

train.py: no findings
""",
    )


def test_equal_assumptions_stand_together(report: Report) -> None:
    span = next(each.span for each in report.assumptions if each.span is not None)
    many = [
        Assumption("assumed `Tensor.item` of unknown data taken as 1.0", place, count=2)
        for place in [replace(span, line=line) for line in range(1, 10)]
    ]
    made = format_story(
        replace(report, assumptions=(*many, Assumption("sizes vary"))), 80
    )
    _, mark, told = made.partition("\nassumed")
    assert_expected_inline(
        mark + told,
        """\

assumed      `Tensor.item` of unknown data taken as 1.0 at train.py:1,
             train.py:2, train.py:3, train.py:4 and 5 more, 18 times
assumed      sizes vary

train.py: no findings
""",
    )
