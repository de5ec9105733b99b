"""Models whose arguments are not one image or one row of tokens."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class TwoThatAgree(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(6, 8), nn.Linear(9, 8)

    def forward(self, a: Any, b: Any) -> Any:
        return (self.left(a) * self.right(b)).sum(-1)


class OptionalMask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.out = nn.Embedding(30, 8), nn.Linear(8, 2)

    def forward(self, a: Any, b: Any = None) -> Any:
        x = self.embed(a)
        if b is not None:
            x = x.masked_fill(b.unsqueeze(-1), 0)
        return self.out(x)


class NeededMask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 8)

    def forward(self, a: Any, b: Any) -> Any:
        x = self.embed(a)
        return x.masked_fill(~b.unsqueeze(-1), 0).sum(1) / b.sum(1, keepdim=True)


class DictBatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.embed = nn.Conv2d(3, 4, 3), nn.Embedding(20, 4)

    def forward(self, a: Any) -> Any:
        image, text = a["image"], a["text"]
        return self.conv(image).mean((2, 3)) + self.embed(text).mean(1)


class ListOfTensors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(10, 2)

    def forward(self, a: list[Tensor]) -> Any:
        return self.out(torch.cat(a, dim=0).reshape(-1, 10))


class Timestep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.time = nn.Conv2d(3, 8, 3, padding=1), nn.Embedding(50, 8)

    def forward(self, a: Any, b: Any) -> Any:
        return self.conv(a) + self.time(b)[:, :, None, None]


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(5, 5)

    def forward(self, a: Any, b: int) -> Any:
        for _ in range(b):
            a = self.cell(a)
        return a


class Lengths(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.rnn = nn.Embedding(30, 8), nn.GRU(8, 8, batch_first=True)

    def forward(self, a: Any, b: Any) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(a), b, batch_first=True, enforce_sorted=False
        )
        return self.rnn(packed)[1]


class Graph(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(7, 7)

    def forward(self, a: Any, edge_index: Any) -> Any:
        source, target = edge_index
        return torch.zeros_like(a).index_add(0, target, self.message(a[source]))


class Video(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2)

    def forward(self, a: Any) -> Any:
        b, t, c, h, w = a.shape
        x = self.conv(a.reshape(b * t, c, h, w))
        return x.mean((2, 3)).view(b, t, -1).mean(1)


class Sound(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 9, stride=4)

    def forward(self, a: Any) -> Any:
        return self.conv(a.unsqueeze(1)).mean(-1)


class SoundOfChannels(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 9, stride=4)

    def forward(self, a: Any) -> Any:
        b, c, t = a.size()
        return self.conv(a.view(b, c, t)).mean(-1)


class EncoderDecoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Embedding(40, 8), nn.Embedding(60, 8)
        self.body = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)

    def forward(self, a: Any, b: Any) -> Any:
        return self.body(self.left(a), self.right(b))


class Complex(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(6, 4, dtype=torch.complex64))

    def forward(self, a: Any) -> Any:
        return (a @ self.weight).real


class KeywordsOnly(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.label = nn.Conv2d(1, 4, 3), nn.Embedding(10, 4)

    def forward(self, *, a: Any, b: Any) -> Any:
        return self.conv(a).mean((2, 3)) + self.label(b)


class ChannelsLast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.out = nn.Conv1d(12, 16, 5), nn.Linear(16, 3)

    def forward(self, a: Any) -> Any:
        return self.out(self.conv(a.transpose(1, 2)).mean(-1))


class FixedImage(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 5, stride=2), nn.Linear(8 * 22 * 22, 5)

    def forward(self, a: Any) -> Any:
        return self.fc(torch.flatten(F.relu(self.conv(a)), 1))


class Positions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 8, stride=8)
        self.place = nn.Parameter(torch.zeros(1, 36, 16))

    def forward(self, a: Any) -> Any:
        return self.patches(a).flatten(2).transpose(1, 2) + self.place


class TokensAndTargets(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.out = nn.Embedding(50, 8), nn.Linear(8, 50)

    def forward(self, a: Any, b: Any) -> Any:
        scores = self.out(self.embed(a))
        return F.cross_entropy(scores.flatten(0, 1), b.flatten())


MODELS = [
    each
    for each in list(globals().values())
    if isinstance(each, type) and each.__module__ == __name__
]
