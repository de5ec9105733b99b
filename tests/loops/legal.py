"""Loops that are meant as loops, or that no single call replaces."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


def recurrent(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1], 5)
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] @ w + h @ u)
    return h


def recurrent_with_all_states(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1], 5)
    states = []
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] @ w + h @ u)
        states.append(h)
    return torch.stack(states)


def from_the_row_before(x: Tensor) -> Tensor:
    out = torch.zeros(20, 5)
    out[0] = x[0]
    for t in range(1, 20):
        out[t] = out[t - 1] * 0.9 + x[t]
    return out


def moving_average(x: Tensor) -> Tensor:
    h = x[0]
    for t in range(1, 20):
        h = 0.9 * h + 0.1 * x[t]
    return h


def in_place_from_the_row_before(x: Tensor) -> Tensor:
    x = x.clone()
    for t in range(1, 20):
        x[t] = x[t] + x[t - 1]
    return x


def two_rows_before(x: Tensor) -> Tensor:
    x = x.clone()
    for t in range(2, 20):
        x[t] += x[t - 1] + x[t - 2]
    return x


def state_and_states(x: Tensor, a: Tensor) -> Tensor:
    s, out = torch.zeros(5), torch.zeros(20, 5)
    for t in range(20):
        s = a * s + x[t]
        out[t] = s
    return out


def positions_from_speeds(x: Tensor) -> Tensor:
    place, speed = torch.zeros(20, 5), torch.zeros(5)
    for t in range(20):
        speed += x[t]
        place[t] = speed
    return place


def a_view_of_what_is_written(x: Tensor) -> Tensor:
    x = x.clone()
    later = x[1:]
    for i in range(19):
        x[i] = later[i] * 2
    return x


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(5, 5) for _ in range(12))
        self.scale = nn.Parameter(torch.ones(12, 5))

    def forward(self, x: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            x = layer(x) * self.scale[i]
        return x


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(5, 4) for _ in range(12))

    def forward(self, x: Tensor) -> Tensor:
        out = torch.zeros(x.shape[0], 12, 4)
        for h in range(12):
            out[:, h] = self.heads[h](x[:, h])
        return out


def a_cell_over_time(x: Tensor) -> Tensor:
    cell, h = nn.GRUCell(5, 6), torch.zeros(3, 6)
    for t in range(x.shape[1]):
        h = cell(x[:, t], h)
    return h


def one_token_after_the_other(ids: Tensor, table: Tensor) -> Tensor:
    ids = ids.clone()
    for t in range(1, 20):
        scores = table[ids[:, t - 1]]
        ids[:, t] = scores.argmax(-1)
    return ids


def batches(x: Tensor, y: Tensor) -> Tensor:
    model, total = nn.Linear(5, 3), torch.zeros(())
    for a, b in DataLoader(TensorDataset(x, y), batch_size=2):
        total = total + F.cross_entropy(model(a), b)
    return total


def chunks(x: Tensor) -> Tensor:
    out = torch.zeros(100, 5)
    for i in range(0, 100, 10):
        out[i : i + 10] = torch.relu(x[i : i + 10])
    return out


def dropped(x: Tensor) -> Tensor:
    out = torch.zeros(20, 5)
    for i in range(20):
        out[i] = F.dropout(x[i], 0.5)
    return out


def noise_of_its_own(x: Tensor) -> Tensor:
    out = torch.zeros(20, 5)
    for i in range(20):
        out[i] = x[i] + torch.randn(5)
    return out


def three_channels(x: Tensor, b: Tensor) -> Tensor:
    out = torch.zeros(3, 5)
    for i in range(3):
        out[i] = x[i] + b[i]
    return out


def a_function_of_their_own(x: Tensor) -> Tensor:
    def score(row: Tensor) -> Tensor:
        return row.cumsum(0)

    return torch.stack([score(x[i]) for i in range(20)])


def pieces_of_their_own_length(x: Tensor, lengths: Tensor) -> Tensor:
    out = torch.zeros(20, 5)
    for i in range(20):
        out[i] = x[i, : lengths[i]].sum(0)
    return out


def ended_early(x: Tensor) -> Tensor:
    out = torch.zeros(20, 5)
    for i in range(20):
        if i == 15:
            break
        out[i] = x[i] * 2
    return out


def the_last_row_is_used_after_it(x: Tensor) -> Tensor:
    out = torch.zeros(20, 5)
    for i in range(20):
        row = x[i] * 2
        out[i] = row
    return out + row


def tensors_in_a_list(x: Tensor) -> Tensor:
    weights, steps = [torch.ones(5) for _ in range(20)], [x[i] for i in range(20)]
    for i in range(20):
        weights[i] = weights[i] - 0.1 * steps[i]
    return weights[0]


def the_same_place_each_time(x: Tensor) -> Tensor:
    out = torch.zeros(5)
    for i in range(20):
        out[:] = x[i]
    return out


def said_while_it_runs(x: Tensor) -> Tensor:
    out = torch.zeros(20, 5)
    for i in range(20):
        out[i] = x[i] * 2
        print(i)
    return out


def rows_that_are_used_before_they_are_stacked(x: Tensor) -> Tensor:
    rows: list[Tensor] = []
    for i in range(20):
        rows.append(x[i] * 2)
    return torch.stack(rows) + rows[3]


def asked_in_between(x: Tensor) -> Tensor:
    out = torch.zeros(20, 5)
    for i in range(20):
        if i > 0:
            out[i] = x[i] + out[i - 1]
    return out
