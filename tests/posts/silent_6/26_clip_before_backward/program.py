import argparse

import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_


class Identities:
    """Feature vectors of people; a few recordings have an outlying gain."""

    def __init__(self, people=20, dim=24, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.centres = torch.randn(people, dim, generator=self.g)
        self.people = people
        self.dim = dim

    def view(self, ids):
        noise = 0.5 * torch.randn(len(ids), self.dim, generator=self.g)
        gain = torch.ones(len(ids), 1)
        gain[torch.rand(len(ids), generator=self.g) < 0.03] = 14.0
        return gain * (self.centres[ids] + noise)

    def triplets(self, n):
        anchor = torch.randint(0, self.people, (n,), generator=self.g)
        other = (anchor + torch.randint(1, self.people, (n,), generator=self.g)) % self.people
        return self.view(anchor), self.view(anchor), self.view(other)

    def clean(self, per_person):
        ids = torch.arange(self.people).repeat_interleave(per_person)
        noise = 0.5 * torch.randn(len(ids), self.dim, generator=self.g)
        return self.centres[ids] + noise, ids


class Embedder(nn.Module):
    def __init__(self, dim, out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, out))

    def forward(self, x):
        return self.net(x)


def squared_triplet(a, p, n, margin=1.0):
    d_pos = (a - p).pow(2).sum(1)
    d_neg = (a - n).pow(2).sum(1)
    return torch.relu(d_pos - d_neg + margin).mean()


@torch.no_grad()
def nearest_neighbour_accuracy(model, x, ids):
    z = model(x)
    d = torch.cdist(z, z)
    d.fill_diagonal_(float("inf"))
    return (ids[d.argmin(1)] == ids).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--lr", type=float, default=0.03)
    parser.add_argument("--clip", type=float, default=0.5)
    args = parser.parse_args()

    torch.manual_seed(0)
    data = Identities()
    test_x, test_ids = data.clean(10)
    model = Embedder(data.dim)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    print(f"start: nn accuracy {nearest_neighbour_accuracy(model, test_x, test_ids):.3f}")
    window = []
    for step in range(1, args.steps + 1):
        a, p, n = data.triplets(64)
        loss = squared_triplet(model(a), model(p), model(n))
        optimizer.zero_grad()
        clip_grad_norm_(model.parameters(), args.clip)
        loss.backward()
        optimizer.step()
        window.append(loss.item())
        if step % 120 == 0:
            mean = sum(window[-120:]) / 120
            acc = nearest_neighbour_accuracy(model, test_x, test_ids)
            print(f"step {step:4d} loss {mean:.4f} nn accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
