# line 28: the slow network is refreshed from a vector of the parameters only, and its BatchNorm1d statistics stay 0 and 1
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import DataLoader, TensorDataset

settings = {"epochs": 8, "keep": 0.9, "lr": 0.02, "batch": 40}


class EnergyNet(nn.Module):
    def __init__(self, columns=7):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(columns, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x).squeeze(1)


def buildings(n):
    x = torch.randn(n, 7) * 3 + 10
    y = 0.2 * (x[:, 0] - 10) * (x[:, 1] > 10) + 0.1 * (x[:, 2] - 10)
    return x, y + 0.05 * torch.randn(n)


@torch.no_grad()
def refresh(slow, fast, keep):
    mixed = torch.lerp(parameters_to_vector(fast.parameters()), parameters_to_vector(slow.parameters()), keep)
    vector_to_parameters(mixed, slow.parameters())
    for ours, theirs in zip(slow.buffers(), fast.buffers()):
        ours.copy_(theirs)


@torch.no_grad()
def rmse(model, x, y):
    model.eval()
    return (model(x) - y).square().mean().sqrt().item()


torch.manual_seed(76)
x, y = buildings(800)
loader = DataLoader(TensorDataset(x[:640], y[:640]), batch_size=settings["batch"], shuffle=True)
fast, slow = EnergyNet(), EnergyNet()
slow.load_state_dict(fast.state_dict())
slow.requires_grad_(False).eval()
sgd = torch.optim.SGD(fast.parameters(), lr=settings["lr"], momentum=0.5)
for epoch in range(settings["epochs"]):
    fast.train()
    for features, target in loader:
        sgd.zero_grad()
        nn.functional.mse_loss(fast(features), target).backward()
        sgd.step()
        refresh(slow, fast, settings["keep"])
print(f"fast {rmse(fast, x[640:], y[640:]):.3f}, slow {rmse(slow, x[640:], y[640:]):.3f}")
