import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class InitialConditionDataset(Dataset):
    """points (x, y, t = 0) and the value of the field there"""

    def __init__(self, n=160, seed=1234):
        rng = np.random.RandomState(seed)
        xy = rng.uniform(-3, 3, (n, 2))
        self.x = np.concatenate([xy, np.zeros((n, 1))], axis=1).astype(np.float32)
        self.u = np.exp(-(xy ** 2).sum(axis=1)).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.tensor(self.u[i])


class CollocationPoints(Dataset):
    def __init__(self, n=160, seed=4321):
        rng = np.random.RandomState(seed)
        self.x = np.concatenate([rng.uniform(-3, 3, (n, 2)), rng.uniform(0, 1, (n, 1))], 1).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i])


class InitialCondition:
    def __init__(self, weight=1.0):
        self.weight = weight

    def __call__(self, x, model, gt_y):
        prediction = model(x).reshape(-1)
        return self.weight * F.mse_loss(prediction, gt_y)


def heat_residual(x, model, diffusivity=0.2):
    x = x.requires_grad_(True)
    u = model(x)
    du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    d2x = torch.autograd.grad(du[:, 0].sum(), x, create_graph=True)[0][:, 0]
    d2y = torch.autograd.grad(du[:, 1].sum(), x, create_graph=True)[0][:, 1]
    return (du[:, 2] - diffusivity * (d2x + d2y)).pow(2).mean()


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


torch.manual_seed(0)
model = mlp([3, 40, 40, 1])
initial_condition = InitialCondition(weight=10.0)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
ic_loader = DataLoader(InitialConditionDataset(), batch_size=32, shuffle=True)
pde_loader = DataLoader(CollocationPoints(), batch_size=32, shuffle=True)
for epoch in range(60):
    for (x_ic, u_ic), x_f in zip(ic_loader, pde_loader):
        loss_ic = initial_condition(x_ic, model, u_ic)
        loss = loss_ic + heat_residual(x_f, model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 20 == 19:
        print('epoch %d initial %.5f total %.5f' % (epoch + 1, loss_ic.item(), loss.item()))
centre = model(torch.zeros(1, 3)).item()
print('u(0, 0, 0) = %.3f, should be 1' % centre)
