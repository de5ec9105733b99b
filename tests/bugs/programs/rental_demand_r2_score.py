import torch
import torch.nn as nn


class DemandModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)
        )

    def forward(self, x):
        return self.net(x)


def r2_score(pred, y):
    ss_res = torch.sum((y - pred) ** 2)
    ss_tot = torch.sum((y - y.mean()) ** 2)
    return 1 - ss_res / ss_tot


@torch.no_grad()
def main(x, y):
    model = DemandModel()
    model.eval()
    pred = model(x)
    return r2_score(pred, y)


def example_inputs():
    return torch.randn(20, 12), torch.rand(20) * 100
