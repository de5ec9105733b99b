from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Backbone(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.conv2(F.relu(self.conv1(x))))


class PartEmbedding(nn.Module):
    """Person re-identification: six horizontal stripes, each with its own embedding."""

    def __init__(self, parts: int = 6, width: int = 8, embedding: int = 12) -> None:
        super().__init__()
        self.backbone = Backbone(width)
        self.pool = nn.AdaptiveAvgPool2d((parts, 1))
        self.heads = nn.ModuleList(
            nn.Linear(2 * width, embedding) for _ in range(parts)
        )

    def embed(self, image: Tensor) -> Tensor:
        stripes = self.pool(self.backbone(image)).squeeze(-1).unbind(-1)
        parts = [head(stripe) for head, stripe in zip(self.heads, stripes)]
        return F.normalize(torch.cat(parts, dim=1), dim=1)


class TripletNet(nn.Module):
    def __init__(self, margin: float = 0.3) -> None:
        super().__init__()
        self.embedding = PartEmbedding()
        self.margin = margin

    def forward(
        self, anchor: Tensor, positive: Tensor, negative: Tensor
    ) -> tuple[Tensor, Tensor]:
        a = self.embedding.embed(anchor)
        p = self.embedding.embed(positive)
        n = self.embedding.embed(negative)
        near, far = (a - p).pow(2).sum(1), (a - n).pow(2).sum(1)
        return F.relu(near - far + self.margin).mean(), torch.stack([near, far], dim=1)
