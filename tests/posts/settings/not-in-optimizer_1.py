# line 12: the expert layers are kept in a dict that the module does not register, so the optimizer has none of them
import torch
from torch import nn

torch.manual_seed(47)


class MixtureOfExperts(nn.Module):
    def __init__(self, inputs, hidden, regions):
        super().__init__()
        self.gate = nn.Linear(inputs, len(regions))
        self.experts = {r: nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, 1)) for r in regions}

    def forward(self, x):
        share = self.gate(x).softmax(-1)
        answers = torch.cat([expert(x) for expert in self.experts.values()], dim=-1)
        return (share * answers).sum(-1)


def rmse(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x) - y).square().mean().sqrt().item()


x = torch.randn(400, 6)
y = torch.where(x[:, 0] > 0, x[:, 1] * 2, x[:, 2] - 1)
model = MixtureOfExperts(6, 16, ["north", "south", "east"])
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-5)
for epoch in range(10):
    model.train()
    for rows in torch.randperm(320).split(40):
        opt.zero_grad()
        nn.functional.mse_loss(model(x[rows]), y[rows]).backward()
        opt.step()
print("rmse", rmse(model, x[320:], y[320:]))
