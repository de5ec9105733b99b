from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class ImageConfig:
    channels: int = 20
    grid: int = 3


@dataclass
class FusionConfig:
    image: ImageConfig = field(default_factory=ImageConfig)
    n_words: int = 140
    dim: int = 32
    n_outcomes: int = 3


class ImageBranch(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.conv = nn.Conv2d(1, cfg.image.channels, 5, stride=2)
        self.pool = nn.AdaptiveMaxPool2d(cfg.image.grid)
        self.project = nn.Linear(cfg.image.channels, cfg.dim)

    def forward(self, image):
        x = self.pool(self.conv(image).relu())
        return self.project(x.flatten(1))


class ReportBranch(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.words = nn.EmbeddingBag(cfg.n_words, cfg.dim, mode="mean")

    def forward(self, report):
        return self.words(report)


class Model(nn.Module):
    """Outcome of a stay from the x-ray, the report and the age."""

    def __init__(self, cfg=FusionConfig()):
        super().__init__()
        self.image = ImageBranch(cfg)
        self.report = ReportBranch(cfg)
        self.fuse = nn.Linear(2 * cfg.dim, cfg.dim)
        self.outcome = nn.Linear(cfg.dim, cfg.n_outcomes)

    def forward(self, image, report, age):
        age = (age - 60.0) / 20.0
        parts = [self.image(image), self.report(report), age]
        x = torch.cat(parts, dim=1)
        return self.outcome(self.fuse(x).relu())


def example_inputs():
    return torch.rand(6, 1, 40, 40), torch.randint(140, (6, 25)), torch.rand(6) * 90
