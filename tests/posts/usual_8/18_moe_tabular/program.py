import pandas as pd
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(2)
np.random.seed(2)


# ---------------------------------------------------------------- data
def energy_frame(n=2000):
    df = pd.DataFrame({
        "hour": np.random.randint(0, 24, n),
        "temp": np.random.normal(12, 8, n),
        "wind": np.random.gamma(2.0, 2.0, n),
        "weekend": np.random.rand(n) < 2 / 7,
        "site": np.random.choice(["office", "school", "factory", "shop"], n),
    })
    base = df.site.map({"office": 40, "school": 25, "factory": 90, "shop": 30})
    day = np.exp(-((df.hour - 13) / 5.0) ** 2)
    heat = np.maximum(18 - df.temp, 0) * df.site.map({"office": 1.5, "school": 2.0, "factory": 0.5, "shop": 1.0})
    df["load"] = base * (0.4 + day * np.where(df.weekend, 0.2, 1.0)) + heat + np.random.normal(0, 2, n)
    return df


df = energy_frame()
X = pd.get_dummies(df.drop(columns="load"), columns=["site"]).astype("float32")
num = ["hour", "temp", "wind"]
X[num] = (X[num] - X[num].mean()) / X[num].std()
y = ((df["load"] - df["load"].mean()) / df["load"].std()).astype("float32")
ds = TensorDataset(torch.tensor(X.values), torch.tensor(y.values).unsqueeze(1))
train_ds, test_ds = random_split(ds, [1600, 400])
train_dl = DataLoader(train_ds, batch_size=64, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=200)


# ---------------------------------------------------------------- model
class Expert(nn.Sequential):
    def __init__(self, dim, hidden):
        super().__init__(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))


class SparseMoE(nn.Module):
    """top-k routing, dispatch by index, load-balancing loss as in Switch Transformers"""

    def __init__(self, dim, num_experts=4, k=2, hidden=64):
        super().__init__()
        self.experts = nn.ModuleList([Expert(dim, hidden) for _ in range(num_experts)])
        self.router = nn.Linear(dim, num_experts, bias=False)
        self.k = k

    def forward(self, x):
        probs = F.softmax(self.router(x), dim=-1)
        weight, chosen = probs.topk(self.k, dim=-1)
        weight = weight / weight.sum(dim=-1, keepdim=True)

        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            rows, slots = torch.where(chosen == e)
            if rows.numel() == 0:
                continue
            out.index_add_(0, rows, expert(x[rows]) * weight[rows, slots])

        share = F.one_hot(chosen, len(self.experts)).float().sum(dim=1).mean(dim=0) / self.k
        aux = len(self.experts) * (share * probs.mean(dim=0)).sum()
        return out, aux


class LoadModel(nn.Module):
    def __init__(self, n_in, dim=48):
        super().__init__()
        self.stem = nn.Linear(n_in, dim)
        self.moe = nn.ModuleList([SparseMoE(dim) for _ in range(2)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(2)])
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        h, aux_total = self.stem(x), 0.0
        for norm, moe in zip(self.norms, self.moe):
            out, aux = moe(norm(h))
            h = h + out
            aux_total = aux_total + aux
        return self.head(h), aux_total


# ---------------------------------------------------------------- training
model = LoadModel(X.shape[1])
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(4):
    model.train()
    for xb, yb in train_dl:
        pred, aux = model(xb)
        loss = F.mse_loss(pred, yb) + 0.01 * aux
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        sse = sum(F.mse_loss(model(xb)[0], yb, reduction="sum").item() for xb, yb in test_dl)
    print(f"epoch {epoch}: test RMSE {np.sqrt(sse / len(test_ds)) * df['load'].std():.2f} kW")
