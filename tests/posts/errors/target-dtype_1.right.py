# line 24: the label column is float because of a missing value upstream, and goes to cross entropy as float; mended by: casting the labels to long
import io

import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(21)
lines = ["petal_l,petal_w,sepal_l,species"]
for i in range(150):
    k = i % 3
    a, b, c = rng.normal([1.5 + 2 * k, 0.3 + 0.7 * k, 5 + 0.8 * k], 0.3)
    lines.append(f"{a:.2f},{b:.2f},{c:.2f},{k if i != 77 else ''}")
df = pd.read_csv(io.StringIO("\n".join(lines)))
df = df.dropna(subset=["species"]).sample(frac=1, random_state=0).reset_index(drop=True)

x_cols = [c for c in df.columns if c != "species"]
df[x_cols] = (df[x_cols] - df[x_cols].mean()) / df[x_cols].std()

n_train = 110
X_train = torch.FloatTensor(df.loc[:n_train - 1, x_cols].values)
X_test = torch.FloatTensor(df.loc[n_train:, x_cols].values)
y = torch.tensor(df["species"].values, dtype=torch.long)
y_train, y_test = y[:n_train], y[n_train:]


class IrisNet(nn.Module):
    def __init__(self, n_in=3, h1=8, h2=9, n_out=3):
        super().__init__()
        self.fc1 = nn.Linear(n_in, h1)
        self.fc2 = nn.Linear(h1, h2)
        self.out = nn.Linear(h2, n_out)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.out(x)


torch.manual_seed(41)
model = IrisNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for i in range(60):
    y_pred = model.forward(X_train)
    loss = criterion(y_pred, y_train)
    losses.append(loss.detach().numpy())
    if i % 20 == 0:
        print(f"Epoch {i} loss {loss:.4f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with torch.no_grad():
    correct = (model(X_test).argmax(1) == y_test).sum().item()
print(f"{correct} of {len(y_test)} right")
