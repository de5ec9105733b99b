"""Streaming class frequencies for loss weighting."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_classes: int = 5, momentum: float = 0.9):
        super().__init__()
        self.n_classes = n_classes
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(n_classes))
        self.net = nn.Conv2d(3, n_classes, 1)

    @torch.no_grad()
    def update(self, target):
        ignore = self.n_classes
        valid = target.flatten()
        hist = torch.bincount(valid, minlength=self.n_classes).float()
        self.running.mul_(self.momentum)
        self.running += hist * (1 - self.momentum)
        return ignore

    def forward(self, image, target):
        ignore = self.update(target)
        logits = self.net(image)
        loss = nn.functional.cross_entropy(logits, target, ignore_index=ignore)
        return self.running, loss


def example_inputs():
    image = torch.rand(2, 3, 8, 8)
    target = torch.randint(0, 5, (2, 8, 8))
    target[:, 0, :] = 5
    return image, target
