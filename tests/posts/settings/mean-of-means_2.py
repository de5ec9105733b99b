# line 33: the root of the squared error is taken for each batch and the roots are averaged
import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(57)
torch.manual_seed(57)
table = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
table["yield"] = table.a * 2 + table.b * table.c + rng.standard_t(2, 400)


def tensors(frame):
    x = torch.tensor(frame[list("abcd")].to_numpy(), dtype=torch.float32)
    return x, torch.tensor(frame["yield"].to_numpy(), dtype=torch.float32)


class CropModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.GELU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)[:, 0]


def test_rmse(model, x, y, size=20):
    model.eval()
    roots = []
    with torch.no_grad():
        for a, b in zip(x.split(size), y.split(size)):
            mse = nn.functional.mse_loss(model(a), b)
            roots.append(mse.sqrt().item())
    return float(np.mean(roots))


x, y = tensors(table[:300])
model = CropModel()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(6):
    model.train()
    for rows in torch.randperm(300).split(30):
        opt.zero_grad()
        nn.functional.smooth_l1_loss(model(x[rows]), y[rows]).backward()
        opt.step()
print("test RMSE", test_rmse(model, *tensors(table[300:])))
