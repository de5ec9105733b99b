import torch
import torch.nn as nn

torch.manual_seed(0)


class HeightRegressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(6, 32),
            nn.SiLU(),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.layers(x)


def per_group_error(model, x, y, groups, n_groups):
    with torch.no_grad():
        err = (model(x) - y).abs().squeeze(1)
    sums = torch.zeros(n_groups, 1)
    counts = torch.zeros(n_groups, 1)
    sums.index_add_(0, groups, err.unsqueeze(1))
    counts.index_add_(0, groups, torch.ones(len(err), 1))
    return sums / counts


x = torch.randn(300, 6)
w = torch.randn(6, 1)
y = x @ w + 0.1 * torch.randn(300, 1)
groups = torch.arange(300) % 4

model = HeightRegressor()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for epoch in range(30):
    optimizer.zero_grad()
    loss = nn.functional.smooth_l1_loss(model(x), y)
    loss.backward()
    optimizer.step()

print(f"train loss {loss:.4f}")
for g, mae in enumerate(per_group_error(model, x, y, groups, 4)):
    print(f"group {g}: MAE {mae:.3f}")
