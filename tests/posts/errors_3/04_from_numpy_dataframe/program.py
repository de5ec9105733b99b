import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader

rng = np.random.default_rng(0)
n = 400
houses = pd.DataFrame({
    "area": rng.uniform(40, 200, n),
    "rooms": rng.integers(1, 7, n),
    "age": rng.uniform(0, 80, n),
})
houses["price"] = 2.5 * houses["area"] + 12 * houses["rooms"] - 0.6 * houses["age"] + rng.normal(0, 5, n)

features = ["area", "rooms", "age"]
z = (houses - houses.mean()) / houses.std()

X = torch.from_numpy(z[features]).float()
y = torch.tensor(z["price"].values, dtype=torch.float32).unsqueeze(1)

loader = DataLoader(TensorDataset(X, y), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(len(features), 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()

for epoch in range(5):
    total = 0.0
    for xb, yb in loader:
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"{epoch} {total / len(loader):.4f}")
