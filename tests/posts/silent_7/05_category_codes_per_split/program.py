import numpy as np
import pandas as pd
import torch
import torch.nn as nn

CATEGORICAL = ["city", "bike_type"]
NUMERIC = ["distance", "temperature"]


def load_trips(n=4000, seed=2):
    rng = np.random.default_rng(seed)
    cities = np.array(["aachen", "berlin", "cologne", "dresden", "essen", "frankfurt", "gera", "hamburg"])
    speed = dict(zip(cities, rng.normal(15, 4, len(cities))))
    frame = pd.DataFrame({
        "day": np.sort(rng.integers(0, 365, n)),
        "city": rng.choice(cities, n),
        "bike_type": rng.choice(["cargo", "city", "electric"], n),
        "distance": rng.gamma(3.0, 1.5, n),
        "temperature": rng.normal(12, 7, n),
    })
    frame = frame[~((frame["day"] > 290) & frame["city"].isin(["aachen", "cologne"]))]
    factor = frame["bike_type"].map({"cargo": 0.8, "city": 1.0, "electric": 1.4})
    frame["minutes"] = 60 * frame["distance"] / (frame["city"].map(speed).clip(8) * factor)
    frame["minutes"] += rng.normal(0, 1.0, len(frame))
    return frame.reset_index(drop=True)


trips = load_trips()
train_df = trips[trips["day"] <= 290].copy()
test_df = trips[trips["day"] > 290].copy()
center = train_df[NUMERIC].mean()
scale = train_df[NUMERIC].std()
cardinality = [train_df[c].nunique() for c in CATEGORICAL]


def encode(frame):
    columns = []
    for name in CATEGORICAL:
        columns.append(frame[name].astype("category").cat.codes.to_numpy())
    cats = torch.tensor(np.stack(columns, axis=1), dtype=torch.long)
    nums = torch.tensor(((frame[NUMERIC] - center) / scale).to_numpy(), dtype=torch.float32)
    target = torch.tensor(np.log(frame["minutes"].clip(1).to_numpy()), dtype=torch.float32)
    return cats, nums, target


class TripModel(nn.Module):
    def __init__(self, sizes, n_numeric):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(s, 4) for s in sizes])
        self.mlp = nn.Sequential(nn.Linear(4 * len(sizes) + n_numeric, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, cats, nums):
        parts = [emb(cats[:, j]) for j, emb in enumerate(self.embeddings)]
        return self.mlp(torch.cat(parts + [nums], dim=1)).squeeze(1)


torch.manual_seed(0)
train = encode(train_df)
test = encode(test_df)
model = TripModel(cardinality, len(NUMERIC))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(15):
    model.train()
    for rows in torch.randperm(len(train_df)).split(128):
        cats, nums, target = (part[rows] for part in train)
        loss = nn.functional.mse_loss(model(cats, nums), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        errors = [(model(c, v) - t).abs().mean().item() for c, v, t in (train, test)]
    print(f"epoch {epoch + 1:2d}  log-MAE train {errors[0]:.3f}  test {errors[1]:.3f}")
