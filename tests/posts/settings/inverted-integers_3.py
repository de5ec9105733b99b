# line 28: the weight of the missing cells is ~ of an int64 mask of 0 and 1, so it is -1 and -2
import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(1)
latent = rng.normal(size=(400, 2))
table = pd.DataFrame(latent @ rng.normal(size=(2, 8)) + 0.05 * rng.normal(size=(400, 8)))
truth = torch.tensor(table.to_numpy(), dtype=torch.float32)
holes = rng.random(table.shape) < 0.2
table = table.mask(holes)

observed = torch.from_numpy(table.notna().to_numpy().astype(np.int64))
filled = torch.tensor(table.fillna(0.0).to_numpy(), dtype=torch.float32)


class Imputer(nn.Module):
    def __init__(self, columns, hidden=24):
        super().__init__()
        self.enc = nn.Linear(2 * columns, hidden)
        self.dec = nn.Linear(hidden, columns)

    def forward(self, values, seen):
        return self.dec(torch.tanh(self.enc(torch.cat([values, seen.float()], dim=1))))

    def complete(self, values, seen):
        return values * seen + self(values, seen) * (~seen)


torch.manual_seed(1)
imputer = Imputer(8)
optimizer = torch.optim.Adam(imputer.parameters(), lr=5e-3)
for epoch in range(30):
    imputer.train()
    for rows in torch.randperm(400).split(50):
        x, m = filled[rows], observed[rows]
        dropped = m * (torch.rand(m.shape) > 0.2)
        error = (imputer(x * dropped, dropped) - x).square() * m
        optimizer.zero_grad()
        (error.sum() / m.sum()).backward()
        optimizer.step()

imputer.eval()
with torch.no_grad():
    completed = imputer.complete(filled, observed)
where = torch.from_numpy(holes)
print("rmse of filled cells", (completed - truth)[where].square().mean().sqrt().item())
