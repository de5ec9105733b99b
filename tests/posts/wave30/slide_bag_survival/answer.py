import os
import os.path as osp
import tempfile

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

cfg = {
    "feat_dim": 256,
    "hidden": 64,
    "batch_size": 1,
    "accum": 4,
    "lr": 1e-3,
    "epochs": 2,
    "seed": 42,
}


class SlideBags(Dataset):
    """One patient = one bag of patch features of a whole-slide image."""

    def __init__(self, table, feat_path):
        self.table = table.reset_index(drop=True)
        self.feat_path = feat_path

    def __len__(self):
        return len(self.table)

    def __getitem__(self, i):
        row = self.table.loc[i]
        feats = torch.load(osp.join(self.feat_path, row["pathology_id"] + ".pt"))
        y = torch.tensor([row["time"], row["event"]], dtype=torch.float32)
        return feats, y


class AttentionPool(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.reduce = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Dropout(0.25))
        self.att_a = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh())
        self.att_b = nn.Sequential(nn.Linear(hidden, hidden), nn.Sigmoid())
        self.att = nn.Linear(hidden, 1)
        self.risk = nn.Linear(hidden, 1)

    def forward(self, bag):
        h = self.reduce(bag)
        w = torch.softmax(self.att(self.att_a(h) * self.att_b(h)), dim=1)
        return self.risk((w * h).sum(dim=1))


def cox_loss(risk, time, event):
    order = torch.argsort(time, descending=True)
    risk, event = risk[order], event[order]
    log_cum = torch.logcumsumexp(risk, dim=0)
    return -((risk - log_cum) * event).sum() / event.sum().clamp(min=1)


def prepare(root, n=20):
    rng = np.random.default_rng(cfg["seed"])
    rows = []
    for i in range(n):
        pid = f"TCGA-{i:04d}"
        size = 64 * int(rng.integers(3, 12))
        torch.save(torch.from_numpy(rng.normal(size=(size, cfg["feat_dim"])).astype(np.float32)), osp.join(root, pid + ".pt"))
        rows.append((pid, rng.exponential(30.0), int(rng.random() < 0.7)))
    return pd.DataFrame(rows, columns=["pathology_id", "time", "event"])


def main():
    torch.manual_seed(cfg["seed"])
    with tempfile.TemporaryDirectory() as root:
        table = prepare(root)
        loader = DataLoader(SlideBags(table, root), batch_size=cfg["batch_size"], shuffle=True)
        model = AttentionPool(cfg["feat_dim"], cfg["hidden"])
        optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"], weight_decay=5e-4)

        for epoch in range(cfg["epochs"]):
            model.train()
            risks, labels, history = [], [], []
            for k, (bag, y) in enumerate(loader, start=1):
                risks.append(model(bag).squeeze(-1))
                labels.append(y)
                if k % cfg["accum"] == 0 or k == len(loader):
                    r, t = torch.cat(risks), torch.cat(labels)
                    loss = cox_loss(r, t[:, 0], t[:, 1])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    history.append(loss.item())
                    risks, labels = [], []
            print(f"[epoch {epoch}] loss {np.mean(history):.4f}")


if __name__ == "__main__":
    main()
