import numpy as np
import pandas as pd
import torch
from torch import nn


class ColumnEncoder(nn.Module):
    def __init__(self, cat_sizes, n_num, dim):
        super().__init__()
        self.cat_embs = nn.ModuleList([nn.Embedding(s, dim) for s in cat_sizes])
        self.num_weight = nn.Parameter(torch.randn(n_num, dim) * 0.1)
        self.num_bias = nn.Parameter(torch.zeros(n_num, dim))
        self.cls = nn.Parameter(torch.randn(1, 1, dim) * 0.1)

    def forward(self, x_cat, x_num):
        toks = [emb(x_cat[:, i]).unsqueeze(1) for i, emb in enumerate(self.cat_embs)]
        toks.append(x_num.unsqueeze(-1) * self.num_weight + self.num_bias)
        return torch.cat([self.cls.expand(x_cat.size(0), -1, -1)] + toks, dim=1)


class TableClassifier(nn.Module):
    def __init__(self, cat_sizes, n_num, num_class=2, dim=32):
        super().__init__()
        self.num_class = num_class
        self.dim = dim
        self.columns = ColumnEncoder(cat_sizes, n_num, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, dim * 2, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.clf = self._make_head(num_class)
        if self.num_class > 2:
            self.loss_fn = nn.CrossEntropyLoss(reduction="mean")
        else:
            self.loss_fn = nn.BCEWithLogitsLoss(reduction="mean")

    def _make_head(self, num_class):
        return nn.Sequential(nn.LayerNorm(self.dim), nn.Linear(self.dim, num_class if num_class > 2 else 1))

    def update(self, config):
        """Reuse the pretrained encoder on another table."""
        if "num_class" in config:
            self.num_class = config["num_class"]
            self.clf = self._make_head(self.num_class)

    def forward(self, x_cat, x_num, y=None):
        h = self.encoder(self.columns(x_cat, x_num))[:, 0]
        logits = self.clf(h)
        if y is None:
            return logits, None
        if self.num_class == 2:
            loss = self.loss_fn(logits.flatten(), y.float())
        else:
            loss = self.loss_fn(logits, y.long())
        return logits, loss


def make_table(n, n_label, seed):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "job": rng.choice(["clerk", "nurse", "driver", "teacher"], n),
        "region": rng.choice(["north", "south", "west"], n),
        "age": rng.integers(18, 80, n),
        "income": rng.normal(30000, 9000, n).round(1),
        "hours": rng.integers(5, 60, n),
    })
    score = df["age"] + df["hours"] + rng.normal(0, 5, n)
    df["target"] = pd.qcut(score, n_label, labels=False)
    return df


def to_tensors(df):
    cat = np.stack([df[c].astype("category").cat.codes.values for c in ("job", "region")], axis=1)
    num = df[["age", "income", "hours"]].values.astype("float32")
    num = (num - num.mean(0)) / num.std(0)
    return torch.as_tensor(cat, dtype=torch.long), torch.as_tensor(num), torch.as_tensor(df["target"].values)


def fit(model, df, epochs, lr=1e-3, batch_size=32):
    x_cat, x_num, y = to_tensors(df)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        order = torch.randperm(len(y))
        total = 0.0
        for idx in order.split(batch_size):
            optimizer.zero_grad()
            _, loss = model(x_cat[idx], x_num[idx], y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print("epoch %d loss %.4f" % (epoch, total / len(y)))


torch.manual_seed(1)
model = TableClassifier(cat_sizes=[4, 3], n_num=3, num_class=2)
print("pretrain on the credit table")
fit(model, make_table(320, 2, 0), epochs=2)

model.update({"num_class": 4})
print("transfer to the insurance table")
fit(model, make_table(256, 4, 1), epochs=2)
