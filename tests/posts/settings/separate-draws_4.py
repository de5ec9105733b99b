# line 17: the batch of faces and the batch of their heat maps are rolled by two different random shifts
import numpy as np
import torch
from torch import nn


def random_offset(limit=4):
    return tuple(int(v) for v in np.random.randint(-limit, limit + 1, size=2))


def shifted(batch, offset):
    return torch.roll(batch, shifts=offset, dims=(-2, -1))


def augment(face, heat):
    offset = random_offset()
    return shifted(face, offset), shifted(heat, random_offset())


class Landmarks(nn.Module):
    def __init__(self, points=2):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, points, 5, padding=2))

    def forward(self, face):
        return self.net(face)


def synthetic_faces(n):
    grid = np.mgrid[0:18, 0:18]
    eyes = np.random.uniform(5, 13, size=(n, 2, 2))
    distance = ((grid[None, None] - eyes[..., None, None]) ** 2).sum(axis=2)
    heat = np.exp(-distance / 4)
    face = heat[:, :1] - heat[:, 1:] + 0.2 * np.random.randn(n, 1, 18, 18)
    return torch.tensor(face, dtype=torch.float32), torch.tensor(heat, dtype=torch.float32)


np.random.seed(88)
torch.manual_seed(88)
face, heat = synthetic_faces(240)
model = Landmarks()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    model.train()
    error = 0.0
    for rows in torch.randperm(240).split(24):
        x, target = augment(face[rows], heat[rows])
        loss = nn.functional.mse_loss(model(x), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        error += loss.item() * len(rows)
    print(f"epoch {epoch}: heat map error {error / 240:.5f}")
