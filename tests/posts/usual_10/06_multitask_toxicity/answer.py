import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(21)

ASSAYS = ["NR.AhR", "NR.ER", "SR.ARE", "SR.p53"]
N_BITS = 256


def make_frame(n=600):
    bits = (rng.random((n, N_BITS)) < 0.08).astype(np.int8)
    df = pd.DataFrame(bits, columns=[f"fp_{i}" for i in range(N_BITS)])
    for k, a in enumerate(ASSAYS):
        score = bits[:, 10 * k: 10 * k + 10].sum(1)
        lab = (score + rng.normal(0, 0.5, n) > 1.2).astype(float)
        lab[rng.random(n) < 0.2] = np.nan
        df[a] = lab
    return df


class SharedTrunk(nn.Module):
    def __init__(self, n_in, width=128, p=0.2):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p),
        )
        self.out_dim = width

    def forward(self, x):
        return self.net(x)


class MultiTaskNet(nn.Module):
    def __init__(self, trunk, tasks):
        super().__init__()
        self.trunk = trunk
        self.tasks = list(tasks)
        self.heads = nn.ModuleDict({t.replace(".", "_"): nn.Linear(trunk.out_dim, 1) for t in tasks})

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([self.heads[t.replace(".", "_")](h) for t in self.tasks], dim=1)


def masked_bce(logits, target):
    mask = ~torch.isnan(target)
    return F.binary_cross_entropy_with_logits(logits[mask], target[mask])


def run():
    torch.manual_seed(0)
    df = make_frame()
    feats = torch.tensor(df.filter(like="fp_").to_numpy(), dtype=torch.float32)
    labels = torch.tensor(df[ASSAYS].to_numpy(), dtype=torch.float32)
    train = TensorDataset(feats[:480], labels[:480])
    loader = DataLoader(train, batch_size=48, shuffle=True)

    net = MultiTaskNet(SharedTrunk(N_BITS), ASSAYS)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-3)
    for epoch in range(8):
        net.train()
        losses = []
        for x, y in loader:
            loss = masked_bce(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            val = net(feats[480:])
        yv = labels[480:]
        accs = {}
        for j, a in enumerate(ASSAYS):
            known = ~torch.isnan(yv[:, j])
            accs[a] = ((val[known, j] > 0).float() == yv[known, j]).float().mean().item()
        print(epoch, f"{np.mean(losses):.4f}", {k: round(v, 3) for k, v in accs.items()})


if __name__ == "__main__":
    run()
