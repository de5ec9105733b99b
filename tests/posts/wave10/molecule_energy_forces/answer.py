import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Interaction(nn.Module):
    def __init__(self, n_atom_basis, n_gaussians):
        super().__init__()
        self.filter_network = nn.Sequential(nn.Linear(n_gaussians, n_atom_basis), nn.Softplus(),
                                            nn.Linear(n_atom_basis, n_atom_basis))
        self.in2f = nn.Linear(n_atom_basis, n_atom_basis, bias=False)
        self.f2out = nn.Sequential(nn.Linear(n_atom_basis, n_atom_basis), nn.Softplus(),
                                   nn.Linear(n_atom_basis, n_atom_basis))

    def forward(self, x, f_ij, mask):
        w = self.filter_network(f_ij) * mask.unsqueeze(-1)
        y = (self.in2f(x).unsqueeze(1) * w).sum(2)
        return self.f2out(y)


class SchNet(nn.Module):
    def __init__(self, n_atom_basis=64, n_interactions=3, cutoff=5.0, n_gaussians=25):
        super().__init__()
        self.embedding = nn.Embedding(20, n_atom_basis, padding_idx=0)
        self.register_buffer('offsets', torch.linspace(0, cutoff, n_gaussians))
        self.width = cutoff / n_gaussians
        self.interactions = nn.ModuleList([Interaction(n_atom_basis, n_gaussians) for _ in range(n_interactions)])

    def forward(self, z, r_ij, mask):
        f_ij = torch.exp(-0.5 * ((r_ij.unsqueeze(-1) - self.offsets) / self.width) ** 2)
        x = self.embedding(z)
        for interaction in self.interactions:
            x = x + interaction(x, f_ij, mask)
        return x


class AtomisticModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.representation = SchNet()
        self.out_net = nn.Sequential(nn.Linear(64, 32), nn.Softplus(), nn.Linear(32, 1))

    def forward(self, z, positions):
        positions.requires_grad_()
        n = z.size(1)
        mask = 1.0 - torch.eye(n)
        dist = positions.unsqueeze(2) - positions.unsqueeze(1)
        r_ij = torch.sqrt((dist ** 2).sum(-1) + 1e-8)
        x = self.representation(z, r_ij, mask.expand(z.size(0), n, n))
        energy = self.out_net(x).sum(1)
        dy = torch.autograd.grad(energy, positions, grad_outputs=torch.ones_like(energy),
                                 create_graph=self.training, retain_graph=self.training)[0]
        return {'energy': energy, 'forces': -dy}


def loss_fn(batch, result, rho=0.1):
    _, _, energy, forces = batch
    return rho * (energy - result['energy']).pow(2).mean() + (1 - rho) * (forces - result['forces']).pow(2).mean()


def make_loader(n, batch_size, shuffle=False):
    z = torch.randint(1, 10, (n, 21))
    positions = torch.randn(n, 21, 3) * 2
    return DataLoader(TensorDataset(z, positions, torch.randn(n, 1), torch.randn(n, 21, 3)),
                      batch_size=batch_size, shuffle=shuffle)


train_loader = make_loader(64, 16, shuffle=True)
val_loader = make_loader(32, 16)
model = AtomisticModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    model.train()
    for batch in train_loader:
        optimizer.zero_grad()
        result = model(batch[0], batch[1])
        loss = loss_fn(batch, result)
        loss.backward()
        optimizer.step()

    model.eval()
    val_loss, n_val = 0.0, 0
    for batch in val_loader:
        val_result = model(batch[0], batch[1])
        val_batch_loss = loss_fn(batch, val_result).data.numpy()
        val_loss += val_batch_loss * batch[0].size(0)
        n_val += batch[0].size(0)
    print(f'epoch {epoch} train {loss.item():.4f} val {val_loss / n_val:.4f}')
