import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "rooms": rng.integers(1, 7, n),
        "area": rng.normal(80, 25, n).round(1),
        "age": rng.integers(0, 60, n),
        "distance": rng.gamma(2.0, 3.0, n).round(2),
    })
    score = 3 + 0.6 * df["rooms"] + 0.02 * df["area"] - 0.03 * df["age"] - 0.1 * df["distance"]
    df["rating"] = (score + rng.normal(0, 0.5, n)).round().clip(0, 10).astype("int64")
    return df


class RetrievalRegressor(nn.Module):
    def __init__(self, n_features, d_main=32, context_size=16):
        super().__init__()
        self.context_size = context_size
        self.linear = nn.Linear(n_features, d_main)
        self.block = nn.Sequential(nn.LayerNorm(d_main), nn.Linear(d_main, 2 * d_main), nn.ReLU(),
                                   nn.Linear(2 * d_main, d_main))
        self.key = nn.Linear(d_main, d_main)
        self.label_encoder = nn.Linear(1, d_main)
        self.value = nn.Sequential(nn.Linear(d_main, 2 * d_main), nn.ReLU(),
                                   nn.Linear(2 * d_main, d_main, bias=False))
        self.head = nn.Sequential(nn.LayerNorm(d_main), nn.ReLU(), nn.Linear(d_main, 1))

    def encode(self, x):
        x = self.linear(x)
        x = x + self.block(x)
        return x, self.key(x)

    def forward(self, x, candidate_x, candidate_y, exclude=None):
        h, k = self.encode(x)
        _, candidate_k = self.encode(candidate_x)
        distances = torch.cdist(k, candidate_k) ** 2
        if exclude is not None:
            distances = distances.scatter(1, exclude[:, None], float("inf"))
        top, context_idx = distances.topk(self.context_size, dim=1, largest=False)
        probs = F.softmax(-top, dim=1)

        context_y_emb = self.label_encoder(candidate_y[context_idx][..., None].float())
        values = context_y_emb + self.value(k[:, None] - candidate_k[context_idx])
        context = (probs[..., None] * values).sum(dim=1)
        return self.head(h + context).squeeze(-1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    df = make_table()
    features = df.drop(columns="rating").to_numpy(dtype=np.float32)
    target = torch.tensor(df["rating"].to_numpy())

    train_rows, test_rows = np.arange(480), np.arange(480, 600)
    mean, std = features[train_rows].mean(0), features[train_rows].std(0)
    features = torch.from_numpy((features - mean) / std)

    x_train, y_train = features[train_rows].to(device), target[train_rows].to(device)
    x_test, y_test = features[test_rows].to(device), target[test_rows].to(device)

    model = RetrievalRegressor(features.shape[1]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    for epoch in range(15):
        model.train()
        for batch in torch.randperm(len(x_train), device=device).split(96):
            pred = model(x_train[batch], x_train, y_train, exclude=batch)
            loss = F.mse_loss(pred, y_train[batch].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    model.eval()
    with torch.no_grad():
        pred = model(x_test, x_train, y_train)
    rmse = F.mse_loss(pred, y_test.float()).sqrt()
    print(f"train loss {loss.item():.4f}  test rmse {rmse.item():.4f}")


if __name__ == "__main__":
    main()
