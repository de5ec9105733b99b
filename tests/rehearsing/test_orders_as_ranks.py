"""Orders that are taken for ranks, and orders that are used as orders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

START = """\
import numpy as np
import torch

scores = torch.rand(8, 50)
values = torch.rand(30)
other = torch.rand(30)
target = torch.randint(50, (8,))

"""
WRONG = {
    "a lookup": """\
ranks = scores.argsort(dim=1, descending=True)
place = ranks.gather(1, target.unsqueeze(1))
rank = place.squeeze(1)
print((1.0 / (rank + 1)).mean(), (rank < 10).float().mean())
""",
    "an order of another name": """\
order = scores.argsort(dim=1, descending=True)
top = order[:, :10]
ranks = order.gather(1, target[:, None]).squeeze(1) + 1
print((1 / ranks.float()).mean(), top)
""",
    "a function": """\
def mean_rank(scores, target):
    order = torch.argsort(scores, dim=-1, descending=True)
    rank = order[torch.arange(len(target)), target]
    return rank.float().mean()

print(mean_rank(scores, target))
""",
    "a correlation of ranks": """\
rank_x = values.argsort().float()
rank_y = other.argsort().argsort().float()
print(((rank_x - rank_x.mean()) * (rank_y - rank_y.mean())).mean())
""",
    "in NumPy": """\
table = np.random.rand(20)
order = np.argsort(-table)
item = int(np.argmax(table * 2))
rank = order[item] + 1
print(1 / rank)
""",
}
EDITS = {
    "a lookup": "`scores.argsort(dim=1, descending=True).argsort(dim=1)`",
    "an order of another name": "`order.argsort(dim=1)`",
    "a function": "`order.argsort(dim=-1)`",
    "a correlation of ranks": "`values.argsort().argsort()`",
    "in NumPy": "`np.argsort(order)`",
}
RIGHT = {
    "twice": """\
ranks = scores.argsort(dim=1, descending=True).argsort(dim=1)
rank = ranks.gather(1, target.unsqueeze(1)).squeeze(1)
print((1.0 / (rank + 1)).mean())
""",
    "twice, by a name": """\
order = scores.argsort(dim=1, descending=True)
ranks = order.argsort(dim=1)
print((ranks.gather(1, target[:, None]) < 10).float().mean())
""",
    "found among the items": """\
ranking = scores.argsort(dim=1, descending=True)
rank = (ranking == target[:, None]).nonzero()[:, 1] + 1
print((1.0 / rank).mean())
""",
    "counted": """\
own = scores.gather(1, target[:, None])
rank = (scores > own).sum(1)
print((1.0 / (rank + 1)).mean())
""",
    "the first of an order": """\
ranked = scores.argsort(dim=1, descending=True)[:, :10]
print((ranked == target[:, None]).any(1).float().mean())
""",
    "items by a rank": """\
ranking = values.argsort(descending=True)
best, second = ranking[0], ranking[1]
print(other[best], other[second])
""",
    "sorted": """\
order = torch.randperm(30)
rank = order.argsort()
print((rank + 1).float().mean())
""",
}


@pytest.mark.parametrize("name", WRONG)
def test_an_order_that_is_taken_for_ranks_is_found(name: str, tmp_path: Path) -> None:
    (found,) = rehearsed(tmp_path, START + WRONG[name]).findings
    assert found.code == "order-as-rank"
    assert [fix.message for fix in found.fixes] == [EDITS[name]]
    assert found.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_ranks_and_orders_are_left_alone(name: str, tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, START + RIGHT[name]).findings
