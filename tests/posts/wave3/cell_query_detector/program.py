import torch
from torch import nn


class CellQueries(nn.Module):
    """Finds cells in a microscope image: every learned query answers with one cell or none."""

    def __init__(self, kinds=5, width=96, heads=6, depth=2, queries=60):
        super().__init__()
        steps, last = [], 3
        for ch in (32, 48, 64, width):
            steps += [nn.Conv2d(last, ch, 3, stride=2, padding=1), nn.BatchNorm2d(ch), nn.ReLU()]
            last = ch
        self.image_net = nn.Sequential(*steps)
        self.places = nn.Parameter(0.02 * torch.randn(900, 1, width))
        self.queries = nn.Parameter(torch.randn(queries, width))
        self.matcher = nn.Transformer(width, heads, depth, depth, 2 * width)
        self.kind = nn.Linear(width, kinds + 1)
        self.outline = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4), nn.Sigmoid())

    def forward(self, images):
        maps = self.image_net(images)
        pixels = maps.flatten(2).permute(2, 0, 1)
        pixels = pixels + self.places[:pixels.size(0)]
        asked = self.queries[:, None, :]
        answers = self.matcher(pixels, asked)
        return self.kind(answers), self.outline(answers)
