import torch
import torch.nn as nn


class SiameseNet(nn.Module):
    """Scores whether two images show the same character."""

    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 4, 5, stride=2),
            nn.ReLU(),
            nn.Conv2d(4, 8, 3, stride=2),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.embed = nn.Linear(8 * 2 * 2, 16)
        self.score = nn.Linear(16, 1)

    def forward_one(self, x):
        return torch.sigmoid(self.embed(self.cnn(x)))

    def forward(self, left, right):
        a = self.forward_one(left)
        b = self.forward_one(right)
        return self.score(torch.abs(a - b))
