import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset


class PoseDataset(Dataset):
    """Ligand poses grouped by compound, in the order in which the compounds were registered."""

    def __init__(self, n_compounds=150, poses=3, n_feat=24, seed=0):
        rng = np.random.default_rng(seed)
        w = rng.normal(size=n_feat)
        self.compounds, feats, targets = [], [], []
        for c in range(n_compounds):
            series = c // 30
            center = rng.normal(size=n_feat) + 0.6 * series
            pic50 = 5 + 0.3 * center @ w / np.sqrt(n_feat) + 0.7 * series
            for _ in range(poses):
                self.compounds.append(f"MPRO-{c:04d}")
                feats.append(center + 0.1 * rng.normal(size=n_feat))
                targets.append(pic50)
        self.x = torch.tensor(np.array(feats), dtype=torch.float32)
        self.y = torch.tensor(targets, dtype=torch.float32)

    def __len__(self):
        return len(self.compounds)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def split_by_compound(ds, fractions, seed):
    """Train, validation and test subsets, all the poses of a compound in the same subset."""
    rng = np.random.default_rng(seed)
    names = list(dict.fromkeys(ds.compounds))
    names = rng.permutation(names)

    n_train = int(fractions[0] * len(names))
    n_val = int(fractions[1] * len(names))
    parts = [names[:n_train], names[n_train:n_train + n_val], names[n_train + n_val:]]

    subsets = []
    for part in parts:
        members = set(part)
        subsets.append(Subset(ds, [i for i, c in enumerate(ds.compounds) if c in members]))
    return subsets


def build_model(n_feat):
    return nn.Sequential(
        nn.Linear(n_feat, 64), nn.SiLU(),
        nn.Linear(64, 32), nn.SiLU(),
        nn.Linear(32, 1),
    )


@torch.no_grad()
def mean_error(model, ds):
    model.eval()
    loss, n = 0.0, 0
    for x, y in DataLoader(ds, batch_size=64):
        loss += (model(x).squeeze(-1) - y).abs().sum().item()
        n += y.numel()
    return loss / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n_epochs", type=int, default=30)
    parser.add_argument("-lr", type=float, default=2e-3)
    parser.add_argument("-split_seed", type=int, default=42)
    args = parser.parse_args()

    torch.manual_seed(0)
    ds = PoseDataset()
    ds_train, ds_val, ds_test = split_by_compound(ds, (0.7, 0.1, 0.2), args.split_seed)
    print(f"{len(ds_train)} train, {len(ds_val)} val, {len(ds_test)} test poses")

    model = build_model(ds.x.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loss_fn = nn.MSELoss()
    for epoch in range(args.n_epochs):
        model.train()
        for x, y in DataLoader(ds_train, batch_size=32, shuffle=True):
            optimizer.zero_grad()
            loss = loss_fn(model(x).squeeze(-1), y)
            loss.backward()
            optimizer.step()
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1}: train MAE {mean_error(model, ds_train):.3f}, "
                  f"val MAE {mean_error(model, ds_val):.3f}")
    print(f"test MAE {mean_error(model, ds_test):.3f}")
    for name, part in (("train", ds_train), ("test", ds_test)):
        print(name, "mean pIC50", round(ds.y[part.indices].mean().item(), 3))


if __name__ == "__main__":
    main()
