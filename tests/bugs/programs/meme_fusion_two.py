import torch
import torch.nn as nn
import torch.nn.functional as F

config = {
    "image": {"channels": [3, 16, 32], "dim": 32},
    "text": {"vocab": 200, "dim": 24},
    "head": {"in": 24, "hidden": 48, "classes": 2},
}


class ImageEncoder(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.convs = nn.ModuleList(
            nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in zip(channels, channels[1:])
        )

    def forward(self, x):
        for conv in self.convs:
            x = F.relu(conv(x))
        return x.flatten(2).transpose(1, 2)  # (B, regions, C)


class TextEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim, mode="mean")

    def forward(self, ids):
        return self.bag(ids)


class Model(nn.Module):
    def __init__(self, cfg=config):
        super().__init__()
        self.image = ImageEncoder(cfg["image"]["channels"])
        self.text = TextEncoder(**cfg["text"])
        self.fc1 = nn.Linear(cfg["head"]["in"], cfg["head"]["hidden"])
        self.fc2 = nn.Linear(cfg["head"]["hidden"], cfg["head"]["classes"])

    def forward(self, pixels, ids):
        v = self.image(pixels)
        t = self.text(ids)
        joint = torch.cat([v, t], dim=-1)
        return self.fc2(F.relu(self.fc1(joint)))


def example_inputs():
    return torch.rand(4, 3, 24, 24), torch.randint(0, 200, (4, 9))
