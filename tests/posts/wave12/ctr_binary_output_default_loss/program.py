"""Click-through model: embeddings of the categorical columns, a dot interaction and a binary head."""
from typing import Dict, Optional

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CATEGORICAL = {"user_id": 200, "item_id": 120, "genre": 18, "weekday": 7}
CONTINUOUS = ["age", "price"]


class ModelOutput(nn.Module):
    """a head: its own layers, its loss and what it reports"""

    def __init__(self, *layers: nn.Module, loss: nn.Module, name: Optional[str] = None):
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.loss = loss
        self.name = name

    def forward(self, inputs):
        return self.layers(inputs)


class BinaryOutput(ModelOutput):
    def __init__(self, name: str, loss: Optional[nn.Module] = None):
        super().__init__(
            nn.LazyLinear(1),
            nn.Sigmoid(),
            loss=loss or nn.BCEWithLogitsLoss(),
            name=name,
        )


class DLRM(nn.Module):
    def __init__(self, dim: int, head: ModelOutput):
        super().__init__()
        self.embeddings = nn.ModuleDict({c: nn.Embedding(n, dim) for c, n in CATEGORICAL.items()})
        self.bottom = nn.Sequential(nn.Linear(len(CONTINUOUS), 32), nn.ReLU(), nn.Linear(32, dim), nn.ReLU())
        self.top = nn.Sequential(nn.LazyLinear(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.head = head

    def forward(self, batch: Dict[str, torch.Tensor]):
        dense = self.bottom(torch.stack([batch[c] for c in CONTINUOUS], dim=1))
        vectors = [dense] + [table(batch[c]) for c, table in self.embeddings.items()]
        stacked = torch.stack(vectors, dim=1)
        dots = torch.bmm(stacked, stacked.transpose(1, 2))
        i, j = torch.tril_indices(stacked.size(1), stacked.size(1), offset=-1)
        return self.head(self.top(torch.cat([dense, dots[:, i, j]], dim=1)))


class Frame(Dataset):
    def __init__(self, df: pd.DataFrame, target: str):
        self.columns = {c: torch.tensor(df[c].to_numpy()) for c in CATEGORICAL}
        self.columns.update({c: torch.tensor(df[c].to_numpy(), dtype=torch.float32) for c in CONTINUOUS})
        self.target = torch.tensor(df[target].to_numpy(), dtype=torch.float32)

    def __len__(self):
        return len(self.target)

    def __getitem__(self, i):
        return {c: v[i] for c, v in self.columns.items()}, self.target[i]


def generate_data(n=4000):
    rng = np.random.default_rng(1)
    df = pd.DataFrame({c: rng.integers(0, size, n) for c, size in CATEGORICAL.items()})
    df["age"] = rng.normal(size=n)
    df["price"] = rng.normal(size=n)
    score = 2.0 * df["age"] - 1.5 * df["price"] + np.where(df["genre"] < 5, 1.0, -2.0)
    df["click"] = (rng.random(n) < 1 / (1 + np.exp(-score))).astype("int64")
    return df


def fit(model, loader, epochs=3, lr=5e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        losses = []
        for batch, target in loader:
            predictions = model(batch)
            loss = model.head.loss(predictions, target.unsqueeze(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print("epoch %d  loss_%s %.4f" % (epoch, model.head.name, np.mean(losses)))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    probs, targets = [], []
    for batch, target in loader:
        probs.append(model(batch).squeeze(1))
        targets.append(target)
    probs, targets = torch.cat(probs), torch.cat(targets)
    log_loss = nn.functional.binary_cross_entropy(probs, targets)
    print("click rate %.3f  mean prediction %.3f  log loss %.4f  accuracy %.3f" % (
        targets.mean(), probs.mean(), log_loss, ((probs > 0.5).float() == targets).float().mean()))


def main():
    torch.manual_seed(3)
    df = generate_data()
    train, valid = Frame(df[:3200], "click"), Frame(df[3200:].reset_index(drop=True), "click")
    train_loader = DataLoader(train, batch_size=128, shuffle=True)
    valid_loader = DataLoader(valid, batch_size=400)

    model = DLRM(dim=16, head=BinaryOutput("click"))
    with torch.no_grad():
        model(next(iter(train_loader))[0])
    fit(model, train_loader)
    evaluate(model, valid_loader)


if __name__ == "__main__":
    main()
