"""Tables, recommendations, policies."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import case


class Ranking(nn.Module):
    """DLRM: embedding bags, dense features, all pairwise products."""

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(
            nn.EmbeddingBag(n, 8, mode="sum") for n in (10, 20, 30)
        )
        self.dense = nn.Linear(4, 8)
        self.top = nn.Linear(8 + 6, 1)

    def forward(self, dense: Tensor, sparse: list[Tensor]) -> Tensor:
        low = self.dense(dense).relu()
        rows = [low] + [bag(ids) for bag, ids in zip(self.bags, sparse, strict=True)]
        table = torch.stack(rows, 1)
        products = torch.bmm(table, table.transpose(1, 2))
        row, column = torch.tril_indices(4, 4, -1)
        return self.top(torch.cat((low, products[:, row, column]), 1)).sigmoid()


@case
def ranking():
    sparse = [torch.randint(n, (5, 3)) for n in (10, 20, 30)]
    return Ranking(), torch.randn(5, 4), sparse


class Factors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Embedding(40, 1)
        self.factors = nn.Embedding(40, 6)

    def forward(self, features: Tensor) -> Tensor:
        x = self.factors(features)
        pairs = x.sum(1).pow(2) - x.pow(2).sum(1)
        return (
            self.linear(features).sum(1) + 0.5 * pairs.sum(1, keepdim=True)
        ).squeeze(1)


@case
def factorisation_machine():
    return Factors(), torch.randint(40, (5, 7))


class Duelling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.value = nn.Linear(16, 1)
        self.advantage = nn.Linear(16, 4)

    def forward(
        self, state: Tensor, action: Tensor, reward: Tensor, done: Tensor
    ) -> Tensor:
        h = F.relu(self.body(state))
        advantage = self.advantage(h)
        q = self.value(h) + advantage - advantage.mean(1, keepdim=True)
        chosen = q.gather(1, action.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            target = reward + 0.9 * q.max(1)[0] * (~done)
        return F.smooth_l1_loss(chosen, target)


@case
def duelling_network():
    action, done = torch.randint(4, (5,)), torch.rand(5) > 0.5
    return Duelling(), torch.randn(5, 6), action, torch.randn(5), done


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Linear(6, 2)
        self.deviation = nn.Parameter(torch.zeros(2))
        self.critic = nn.Linear(6, 1)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        law = torch.distributions.Normal(
            self.mean(state), self.deviation.exp(), validate_args=False
        )
        action = law.rsample()
        return action, law.log_prob(action).sum(-1), law.entropy(), self.critic(state)


@case
def policy_with_distribution():
    return Policy(), torch.randn(5, 6)


@dataclass
class Prediction:
    logits: Tensor
    parts: list[Tensor]


class Table(nn.Module):
    """Mixed columns in a dict, a dataclass out."""

    def __init__(self) -> None:
        super().__init__()
        self.columns = nn.ModuleDict(
            {"city": nn.Embedding(9, 3), "day": nn.Embedding(7, 2)}
        )
        self.weights = nn.ParameterList(
            nn.Parameter(torch.randn(7, 4)) for _ in range(2)
        )
        self.norm = nn.BatchNorm1d(7)

    def forward(self, *, row: dict[str, Tensor], scale: float = 1.0) -> Prediction:
        parts = [layer(row[name]) for name, layer in self.columns.items()]
        x = self.norm(torch.column_stack([*parts, row["amount"]])) * scale
        return Prediction(torch.sigmoid(sum(x @ w for w in self.weights)), parts)


@case
def mixed_table():
    row = {
        "city": torch.randint(9, (5,)),
        "day": torch.randint(7, (5,)),
        "amount": torch.randn(5, 2),
    }
    return Table().eval(), {"row": row, "scale": 2.0}


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(
        self, anchor: Tensor, same: Tensor, other: Tensor
    ) -> tuple[Tensor, Tensor]:
        a, s, o = self.tower(anchor), self.tower(same), self.tower(other)
        return F.triplet_margin_loss(a, s, o), F.cosine_similarity(a, o)


@case
def siamese_called_three_times():
    return Siamese(), torch.randn(4, 6), torch.randn(4, 6), torch.randn(4, 6)
