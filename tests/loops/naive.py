"""Loops over elements and rows, as people write them before they know the operator."""

# ruff: noqa: E741

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def gather_rows(x: Tensor, index: Tensor) -> Tensor:
    out = torch.zeros(7, 9)
    for i in range(7):
        for j in range(9):
            out[i, j] = x[index[i, j], j]
    return out


def gather_in_three_dims(source: Tensor, where: Tensor) -> Tensor:
    n, m, k = where.shape
    picked = source.new_zeros(n, m, k)
    for a in range(n):
        for b in range(m):
            for c in range(k):
                picked[a, b, c] = source[a, where[a, b, c], c]
    return picked


def gather_by_a_number(x: Tensor, index: Tensor) -> Tensor:
    out = torch.empty(7, 9)
    for i in range(7):
        for j in range(9):
            at = index[i, j]
            out[i, j] = x[i, at.item()]
    return out


def scatter_added(index: Tensor, src: Tensor) -> Tensor:
    out = torch.zeros(12, 9)
    for i in range(7):
        for j in range(9):
            out[index[i, j], j] += src[i, j]
    return out


def scattered(index: Tensor, src: Tensor) -> Tensor:
    out = torch.ones(7, 12)
    for i in range(7):
        for j in range(9):
            out[i, index[i, j]] = src[i, j]
    return out


def rows_added_by_index(x: Tensor, group: Tensor) -> Tensor:
    out = torch.zeros(10, 5)
    for i in range(len(x)):
        out[group[i]] += x[i]
    return out


def counted(labels: Tensor) -> Tensor:
    count = torch.zeros(10)
    for i in range(labels.shape[0]):
        count[labels[i]] += 1
    return count


def one_hot(labels: Tensor) -> Tensor:
    hot = torch.zeros(30, 10)
    for i in range(30):
        hot[i, labels[i]] = 1
    return hot


def looked_up(table: Tensor, ids: Tensor) -> Tensor:
    out = torch.zeros(5, 6, 8)
    for b in range(5):
        for t in range(6):
            out[b, t] = table[ids[b, t]]
    return out


def chosen_of_each_row(x: Tensor, y: Tensor) -> Tensor:
    out = torch.zeros(30)
    for i in range(30):
        out[i] = x[i, y[i]]
    return out


def row_added(x: Tensor, b: Tensor) -> Tensor:
    out = torch.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = x[i] + b
    return out


def row_added_elsewhere(out: Tensor, x: Tensor, b: Tensor) -> Tensor:
    for i in range(20):
        for j in range(5):
            out[i, j] = x[i, j] + b[j]
    return out


def columns_scaled(x: Tensor, w: Tensor) -> Tensor:
    out = torch.zeros(6, 32)
    for j in range(32):
        out[:, j] = x[:, j] * w[j]
    return out


def part_doubled(x: Tensor) -> Tensor:
    out = torch.zeros(40, 3)
    for i in range(10, 30):
        out[i] = x[i] * 2
    return out


def differences(x: Tensor) -> Tensor:
    out = torch.zeros(12, 3)
    for i in range(1, 13):
        out[i - 1] = x[i] - x[i - 1]
    return out


def enumerated(x: Tensor, b: Tensor) -> Tensor:
    out = torch.empty(32, 5)
    for i, row in enumerate(x):
        out[i] = torch.relu(row) * b + 1
    return out


def stacked_rows(table: Tensor, offsets: Tensor) -> Tensor:
    return torch.stack([line + offsets for line in table])


def appended_rows(x: Tensor, b: Tensor) -> Tensor:
    rows = []
    for i in range(x.size(0)):
        rows.append(F.relu(x[i] * b))
    return torch.stack(rows)


def stacked_products(lefts: Tensor, rights: Tensor) -> Tensor:
    return torch.stack([a @ b for a, b in zip(lefts, rights, strict=True)])


def batched_products(a: Tensor, w: Tensor) -> Tensor:
    out = torch.zeros(9, 4, 6)
    for b in range(9):
        out[b] = a[b] @ w[b]
    return out


def heads(q: Tensor, k: Tensor) -> Tensor:
    scores = torch.zeros(8, 10, 12)
    for h in range(8):
        scores[h] = q[h] @ k[h].T * 0.5
    return scores


def matrix_product(a: Tensor, b: Tensor) -> Tensor:
    n, m = a.shape[0], b.shape[1]
    out = torch.zeros(n, m)
    for i in range(n):
        for j in range(m):
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * b[k, j]
    return out


def matrix_product_by_a_sum(a: Tensor, b: Tensor) -> Tensor:
    out = torch.zeros(9, 4)
    for i in range(9):
        for j in range(4):
            s = 0.0
            for k in range(5):
                s += a[i, k] * b[j, k]
            out[i, j] = s
    return out


def contracted(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    out = torch.zeros(2, 3, 4)
    for i in range(2):
        for j in range(3):
            for k in range(4):
                for l in range(5):
                    out[i, j, k] += x[i, k, l, j] * y[i, l] * z[j]
    return out


def distances(x: Tensor, y: Tensor) -> Tensor:
    out = torch.zeros(11, 13)
    for i in range(11):
        for j in range(13):
            out[i, j] = ((x[i] - y[j]) ** 2).sum()
    return out


def summed(x: Tensor) -> Tensor:
    total = torch.zeros(5)
    for i in range(len(x)):
        total += x[i]
    return total / len(x)


def transposed(x: Tensor) -> Tensor:
    out = torch.zeros(13, 11)
    for i in range(11):
        for j in range(13):
            out[j, i] = x[i, j]
    return out


def padding_mask(lengths: Tensor) -> Tensor:
    mask = torch.zeros(8, 20, dtype=torch.bool)
    for i in range(8):
        for t in range(20):
            mask[i, t] = t < lengths[i]
    return mask


def causal_mask() -> Tensor:
    n = 12
    mask = torch.full((n, n), float("-inf"))
    for i in range(n):
        for j in range(i + 1):
            mask[i, j] = 0.0
    return mask


def in_a_loop_of_layers(x: Tensor, y: Tensor) -> Tensor:
    out = torch.zeros(3, 20)
    for b in range(3):
        print(b)
        for i in range(20):
            out[b, i] = x[b, i] + y[i]
    return out


def again_and_again(x: Tensor, b: Tensor) -> Tensor:
    out = torch.zeros(20, 5)
    for _ in range(3):
        for i in range(20):
            out[i] += x[i] * b
    return out


def one_column(x: Tensor) -> Tensor:
    out = torch.zeros(20, 5)
    for i in range(20):
        out[i, 2] = x[i, 3] + 1
    return out


def windows(x: Tensor, w: Tensor) -> Tensor:
    out = torch.zeros(10)
    for i in range(10):
        for k in range(3):
            out[i] += x[i + k] * w[k]
    return out


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 5))
        self.bias = nn.Parameter(torch.randn(16))

    def forward(self, x: Tensor) -> Tensor:
        out = x.new_zeros(x.shape[0], 16)
        for b in range(x.shape[0]):
            for o in range(16):
                out[b, o] = torch.dot(x[b], self.weight[o]) + self.bias[o]
        return out
