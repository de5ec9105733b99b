import argparse

import torch
import torch.nn as nn


class RadialMLP(nn.Module):
    def __init__(self, num_bessel, channels):
        super().__init__()
        self.register_buffer('freqs', torch.arange(1, num_bessel + 1).float())
        self.net = nn.Sequential(nn.Linear(num_bessel, 32), nn.SiLU(), nn.Linear(32, channels))

    def forward(self, r):
        return self.net(torch.sin(self.freqs * r.unsqueeze(-1)) / r.unsqueeze(-1))


class Interaction(nn.Module):
    def __init__(self, channels, num_bessel):
        super().__init__()
        self.linear_up = nn.Linear(channels, channels, bias=False)
        self.radial = RadialMLP(num_bessel, channels)
        self.linear = nn.Linear(channels, channels, bias=False)

    def forward(self, feats, r, edge_index):
        src, dst = edge_index
        msg = self.linear_up(feats)[src] * self.radial(r)
        return self.linear(torch.zeros_like(feats).index_add(0, dst, msg))


class Product(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(3, channels) * 0.1)
        self.linear = nn.Linear(channels, channels, bias=False)

    def forward(self, m, sc):
        return self.linear(self.weights[0] * m + self.weights[1] * m ** 2 + self.weights[2] * m ** 3) + sc


class FieldMACE(nn.Module):
    """energies of atoms with an electrostatic term: charges in the field of the others"""

    def __init__(self, num_elements=4, channels=32, num_interactions=2, num_bessel=6):
        super().__init__()
        self.node_embedding = nn.Embedding(num_elements, channels)
        self.interactions = nn.ModuleList(Interaction(channels, num_bessel) for _ in range(num_interactions))
        self.products = nn.ModuleList(Product(channels) for _ in range(num_interactions))
        self.readouts = nn.ModuleList(nn.Linear(channels, 1) for _ in range(num_interactions))
        self.charge_embedding = nn.Linear(channels, 1)
        self.field_readout = nn.Sequential(nn.Linear(2, 16), nn.SiLU(), nn.Linear(16, 1))

    def forward(self, z, pos, edge_index):
        src, dst = edge_index
        r = (pos[src] - pos[dst]).norm(dim=-1)
        feats = self.node_embedding(z)
        energy = 0.
        for inter, prod, readout in zip(self.interactions, self.products, self.readouts):
            feats = prod(inter(feats, r, edge_index), feats)
            energy = energy + readout(feats).sum()
        q = self.charge_embedding(feats).squeeze(-1)
        field = torch.zeros_like(q).index_add(0, dst, q[src] / r)
        return energy + self.field_readout(torch.stack([q, field], dim=-1)).sum()


def get_params_options(args, model):
    decay, no_decay = {}, {}
    for name, param in model.interactions.named_parameters():
        if 'linear.weight' in name:
            decay[name] = param
        else:
            no_decay[name] = param
    return dict(
        params=[
            {'name': 'embedding', 'params': model.node_embedding.parameters(), 'weight_decay': 0.0},
            {'name': 'interactions_decay', 'params': list(decay.values()), 'weight_decay': args.weight_decay},
            {'name': 'interactions_no_decay', 'params': list(no_decay.values()), 'weight_decay': 0.0},
            {'name': 'products', 'params': model.products.parameters(), 'weight_decay': args.weight_decay},
            {'name': 'readouts', 'params': model.readouts.parameters(), 'weight_decay': 0.0},
        ],
        lr=args.lr, amsgrad=args.amsgrad,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--lr', type=float, default=0.01)
    parser.add_argument('--weight_decay', type=float, default=5e-7)
    parser.add_argument('--amsgrad', action='store_true', default=True)
    parser.add_argument('--max_num_epochs', type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)

    n = 12
    edge_index = torch.tensor([(i, j) for i in range(n) for j in range(n) if i != j]).T
    molecules = [(torch.randint(4, (n,)), torch.randn(n, 3) * 2, torch.randn(())) for _ in range(8)]
    model = FieldMACE()
    optimizer = torch.optim.Adam(**get_params_options(args, model))
    for epoch in range(args.max_num_epochs):
        total = 0.
        for z, pos, energy in molecules:
            loss = ((model(z, pos, edge_index) - energy) / n) ** 2
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
            optimizer.step()
            total += loss.item()
        print(f'Epoch {epoch}: loss={total / len(molecules):.4f}')


if __name__ == '__main__':
    main()
