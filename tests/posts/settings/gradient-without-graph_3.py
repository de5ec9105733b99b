# line 25: the forces are derivatives of the energy without create_graph, so the force term of the loss is a constant
import torch
from torch import nn


class PairPotential(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(1, width), nn.Softplus(), nn.Linear(width, 1))

    def forward(self, r):
        i, j = torch.triu_indices(r.size(1), r.size(1), offset=1)
        distance = (r[:, i] - r[:, j]).norm(dim=-1, keepdim=True)
        return self.phi(distance).sum(dim=(1, 2))


def true_energy(r):
    i, j = torch.triu_indices(r.size(1), r.size(1), offset=1)
    return ((r[:, i] - r[:, j]).norm(dim=-1) - 1.0).square().sum(1)


def energy_and_forces(potential, r, training):
    r = r.detach().clone().requires_grad_(True)
    energy = potential(r)
    slope = torch.autograd.grad(energy.sum(), r, retain_graph=training)[0]
    return energy, -slope


class ForceMatching:
    def __init__(self, model, rho=0.5):
        self.model, self.rho = model, rho
        self.optim = torch.optim.Adam(model.parameters(), lr=5e-3)

    def update(self, r, energy, forces):
        e, f = energy_and_forces(self.model, r, training=True)
        loss = (e - energy).square().mean() + self.rho * (f - forces).square().mean()
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        return loss.item()


torch.manual_seed(3)
positions = torch.randn(400, 5, 3)
energies, forces = (t.detach() for t in energy_and_forces(true_energy, positions, training=False))
job = ForceMatching(PairPotential())
for epoch in range(10):
    job.model.train()
    total = 0.0
    for idx in torch.randperm(len(positions)).split(40):
        total += job.update(positions[idx], energies[idx], forces[idx]) * len(idx)
    if epoch % 3 == 0:
        print(epoch, total / len(positions))

job.model.eval()
fresh = torch.randn(100, 5, 3)
_, wanted = energy_and_forces(true_energy, fresh, training=False)
_, found = energy_and_forces(job.model, fresh, training=False)
print("force error", (found - wanted).abs().mean().item())
