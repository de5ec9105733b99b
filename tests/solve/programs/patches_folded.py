"""Works on 4 x 4 patches and puts them back together."""

import torch.nn as nn
import torch.nn.functional as F


class PatchMLP(nn.Module):
    def __init__(self, patch=4, width=12):
        super().__init__()
        self.patch = patch
        self.mlp = nn.Sequential(
            nn.Linear(patch * patch, width), nn.GELU(), nn.Linear(width, patch * patch)
        )

    def forward(self, x):
        b, c, h, w = x.shape
        x = x.reshape(b * c, 1, h, w)
        columns = F.unfold(x, self.patch, stride=self.patch)
        columns = self.mlp(columns.transpose(1, 2)).transpose(1, 2)
        x = F.fold(columns, (h, w), self.patch, stride=self.patch)
        return x.reshape(b, c, h, w)
