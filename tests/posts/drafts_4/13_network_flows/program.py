# coding: utf-8
# # Autoencoder for odd network flows
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.RandomState(99)
torch.manual_seed(99)


# ## 1. Data
def flows(n, attack=False):
    frame = pd.DataFrame({
        "duration": rng.gamma(2, 1.5, n),
        "bytes_out": rng.lognormal(6, 1, n),
        "packets": rng.poisson(20, n),
        "proto": rng.choice(["tcp", "udp", "icmp"], n, p=[0.7, 0.25, 0.05]),
    })
    frame["bytes_in"] = frame["bytes_out"] * rng.uniform(0.8, 1.2, n)
    if attack:
        frame["bytes_in"] = frame["bytes_in"] * rng.uniform(0.01, 0.1, n)
        frame["packets"] = rng.poisson(45, n)
    return frame


df = pd.concat([flows(1500), flows(60, attack=True)], ignore_index=True)
df["attack"] = [0] * 1500 + [1] * 60

numeric = ["duration", "bytes_out", "bytes_in", "packets"]
df[["bytes_out", "bytes_in"]] = np.log1p(df[["bytes_out", "bytes_in"]])
train_rows = df[df["attack"] == 0].sample(1200, random_state=0).index
train_numeric = df.loc[train_rows, numeric]
df[numeric] = (df[numeric] - train_numeric.mean()) / train_numeric.std()
df = pd.get_dummies(df, columns=["proto"])
features = df.drop(columns="attack")
print(features.head())

# ## 2. Only normal traffic for training
normal = features.loc[train_rows]
rest = df.drop(index=normal.index)

X_train = torch.tensor(normal.values, dtype=torch.float32)
X_test = torch.tensor(rest.drop(columns="attack").values, dtype=torch.float32)
y_test = rest["attack"].values

loader = DataLoader(TensorDataset(X_train), batch_size=64, shuffle=True)


# ## 3. Model
class AutoEncoder(nn.Module):
    def __init__(self, n_in, n_code=3):
        super(AutoEncoder, self).__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 16), nn.Tanh(), nn.Linear(16, n_code))
        self.decoder = nn.Sequential(nn.Linear(n_code, 16), nn.Tanh(), nn.Linear(16, n_in))

    def forward(self, x):
        return self.decoder(self.encoder(x))


ae = AutoEncoder(X_train.shape[1])
mse = nn.MSELoss()
opt = torch.optim.Adam(ae.parameters(), lr=5e-3)

# ## 4. Training
for epoch in range(30):
    losses = []
    for batch in loader:
        opt.zero_grad()
        loss = mse(ae(batch), batch)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 10 == 9:
        print("epoch", epoch + 1, "loss", np.mean(losses))

# ## 5. Scores
ae.eval()
error = ((ae(X_test) - X_test) ** 2).mean(dim=1)
scores = error.numpy()
print("AUC:", roc_auc_score(y_test, scores))
print("mean error normal / attack:", scores[y_test == 0].mean(), scores[y_test == 1].mean())
