"""Ids of a table that an embedding looks up as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytest.importorskip("pandas")

PROGRAM = """\
import numpy as np
import pandas as pd
import torch
from torch import nn

people = np.arange(1000, 1500, 25)
films = np.arange(7, 700, 70)
df = pd.DataFrame({{"who": np.repeat(people, 10), "film": np.tile(films, 20)}})
df["score"] = 3.0
{}

class Factors(nn.Module):
    def __init__(self, n_people, n_films):
        super().__init__()
        self.people = nn.Embedding(n_people, 8)
        self.films = nn.Embedding(n_films, 8)

    def forward(self, who, film):
        return (self.people(who) * self.films(film)).sum(1)

model = Factors(n_people, n_films)
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    loss = (model(who, film) - score).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
COUNTS = """\
n_people = df["who"].nunique()
n_films = len(df["film"].unique())
"""
TENSORS = """\
train = df.sample(frac=0.8, random_state=0)
who = torch.tensor(train["who"].values)
film = torch.tensor(train["film"].values)
score = torch.tensor(train["score"].values, dtype=torch.float32)
"""
CODES = '.astype("category").cat.codes'


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        (
            COUNTS + TENSORS,
            f'`df["who"] = df["who"]{CODES}.astype("int64")` and'
            f' `df["film"] = df["film"]{CODES}.astype("int64")`',
        ),
        (
            TENSORS.replace("df.sample", "df.sample") + COUNTS,
            f'`df["who"] = df["who"]{CODES}.astype("int64")` and'
            f' `df["film"] = df["film"]{CODES}.astype("int64")`',
        ),
        (
            COUNTS
            + 'df["u"] = df["who"].astype("int64")\ndf["f"] = df["film"]\n'
            + TENSORS.replace('n["who"]', 'n["u"]').replace('n["film"]', 'n["f"]'),
            f'`df["who"]{CODES}` and `df["film"]{CODES}.astype("int64")`',
        ),
    ],
)
def test_the_ids_are_numbered_before_the_split(
    tmp_path: Path, lines: str, fix: str
) -> None:
    (error,) = rehearsed(tmp_path, PROGRAM.format(lines)).findings
    assert error.message.startswith('the ids of `df["who"]` are not 0 to n - 1')
    assert error.fixes[0].message == fix
    assert error.fixes[0].checked


@pytest.mark.parametrize(
    "lines",
    [
        COUNTS
        + 'for c in ("who", "film"):\n    df[c] = df[c].astype("category").cat.codes\n'
        + TENSORS.replace(".values)", ".values).long()"),
        COUNTS.replace('df["who"].nunique()', 'df["who"].max() + 1').replace(
            'len(df["film"].unique())', 'df["film"].max() + 1'
        )
        + TENSORS,
    ],
)
def test_numbered_ids_and_tables_up_to_the_largest_are_no_mistake(
    tmp_path: Path, lines: str
) -> None:
    assert not rehearsed(tmp_path, PROGRAM.format(lines)).findings
