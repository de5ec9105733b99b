import torch
import torch.nn as nn
import torch.nn.functional as F


class Branch(nn.Module):
    def __init__(self, out=20):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 5, stride=2)
        self.fc = nn.Linear(8, out)

    def forward(self, x):
        x = F.relu(self.conv(x))
        x = F.adaptive_max_pool2d(x, 1).flatten(1)
        return self.fc(x)


class Model(nn.Module):
    """Signature verification: are both images by the same hand?"""

    def __init__(self, dim=20):
        super().__init__()
        self.branch = Branch(dim)
        self.compare = nn.Sequential(nn.Linear(2 * dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, left, right):
        n = left.size(0)
        f1 = self.branch(left)
        f2 = self.branch(right)
        both = torch.cat((f1, f2))
        both = both.view(n, -1)
        return torch.sigmoid(self.compare(both))


def example_inputs():
    return torch.rand(8, 1, 32, 40), torch.rand(8, 1, 32, 40)
