"""Recurrent layers, cells and packed sequences, on what torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from checking.needs.breaking import Call, call
from checking.needs.families import family

ones = torch.ones
LENGTHS = torch.tensor([5, 4, 2])


@family("packing", fill=1)
def packing() -> Iterator[Call]:
    yield call(torch._pack_padded_sequence, ones(3, 5, 8), LENGTHS, True)
    yield call(torch._pack_padded_sequence, ones(5, 3), LENGTHS, False)
    yield call(torch._C._nn.pad_sequence, [ones(5, 8), ones(3, 8), ones(4, 8)], True)


@family("recurrent layers")
def layers() -> Iterator[Call]:
    for kind in (nn.GRU, nn.RNN):
        layer = kind(8, 6, batch_first=True)
        yield call(layer, ones(3, 5, 8))
        yield call(layer, ones(3, 5, 8), ones(1, 3, 6))
    layer = nn.LSTM(8, 6, num_layers=2, bidirectional=True)
    yield call(layer, ones(5, 3, 8))
    yield call(layer, ones(5, 3, 8), (ones(4, 3, 6), ones(4, 3, 6)))
    yield call(nn.LSTM(8, 6, proj_size=4), ones(5, 8), (ones(1, 4), ones(1, 6)))


@family("recurrent cells")
def cells() -> Iterator[Call]:
    yield call(nn.GRUCell(8, 6), ones(3, 8), ones(3, 6))
    yield call(nn.RNNCell(8, 6), ones(3, 8))
    yield call(nn.LSTMCell(8, 6), ones(3, 8), (ones(3, 6), ones(3, 6)))
    yield call(nn.LSTMCell(8, 6), ones(8))
