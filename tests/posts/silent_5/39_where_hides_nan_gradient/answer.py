import torch
from torch import nn
from sklearn.datasets import make_swiss_roll

torch.manual_seed(0)
roll, color = make_swiss_roll(n_samples=400, noise=0.1, random_state=0)
points = torch.tensor(roll, dtype=torch.float32)
points = (points - points.mean(0)) / points.std(0)


def pair_distances(z):
    diff = z[:, None, :] - z[None, :, :]
    d2 = diff.pow(2).sum(dim=-1)
    safe = torch.where(d2 > 0, d2, torch.ones_like(d2))
    return torch.where(d2 > 0, safe.sqrt(), torch.zeros_like(d2))


def stress(z, x):
    with torch.no_grad():
        target = pair_distances(x)
    return (pair_distances(z) - target).pow(2).mean()


class Projector(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(3, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 2),
        )

    def forward(self, x):
        return self.layers(x)


model = Projector()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(1, 21):
    model.train()
    for idx in torch.randperm(len(points)).split(100):
        x = points[idx]
        loss = stress(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0:
        print(f"epoch {epoch}: stress {loss.item():.4f}")

model.eval()
with torch.no_grad():
    embedding = model(points)
print("spread of the embedding", embedding.std(dim=0))
