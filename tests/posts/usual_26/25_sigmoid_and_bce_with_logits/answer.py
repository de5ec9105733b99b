import numpy as np
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn
from torch.utils.data import DataLoader, Dataset


def make_claims(n=1500, seed=31):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "amount": rng.gamma(2.0, 900.0, n),
        "age": rng.integers(18, 85, n),
        "prior": rng.poisson(0.7, n),
        "region": rng.choice(["north", "south", "east", "west"], n),
    })
    z = 0.0009 * df["amount"] + 1.6 * df["prior"] + 1.5 * (df["region"] == "east") - 4.2
    df["fraud"] = (rng.random(n) < 1 / (1 + np.exp(-2.5 * z))).astype(int)
    return df


class ClaimDataset(Dataset):
    def __init__(self, X, y):
        self.X = torch.tensor(X, dtype=torch.float32)
        self.y = torch.tensor(y, dtype=torch.float32).unsqueeze(1)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


class FraudNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.layer_1 = nn.Linear(n_in, 64)
        self.layer_2 = nn.Linear(64, 32)
        self.layer_out = nn.Linear(32, 1)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(p=0.1)
        self.batchnorm1 = nn.BatchNorm1d(64)
        self.batchnorm2 = nn.BatchNorm1d(32)

    def forward(self, inputs):
        x = self.batchnorm1(self.relu(self.layer_1(inputs)))
        x = self.batchnorm2(self.relu(self.layer_2(x)))
        x = self.dropout(x)
        return self.layer_out(x)


def collect(model, loader):
    model.eval()
    probs, truth = [], []
    with torch.no_grad():
        for xb, yb in loader:
            probs.append(torch.sigmoid(model(xb)))
            truth.append(yb)
    return torch.cat(probs).squeeze(1), torch.cat(truth).squeeze(1)


df = make_claims()
train_df, test_df = train_test_split(df, test_size=0.25, random_state=31, stratify=df["fraud"])
num_cols = ["amount", "age", "prior"]
scaler = StandardScaler().fit(train_df[num_cols])
encoder = OneHotEncoder(sparse_output=False).fit(train_df[["region"]])


def features(frame):
    return np.hstack([scaler.transform(frame[num_cols]), encoder.transform(frame[["region"]])])


train_ds = ClaimDataset(features(train_df), train_df["fraud"].to_numpy())
test_ds = ClaimDataset(features(test_df), test_df["fraud"].to_numpy())
train_loader = DataLoader(train_ds, batch_size=64, shuffle=True, drop_last=True)
test_loader = DataLoader(test_ds, batch_size=256)

torch.manual_seed(31)
model = FraudNet(train_ds.X.shape[1])
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(1, 13):
    model.train()
    epoch_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    if epoch % 3 == 0:
        probs, truth = collect(model, test_loader)
        acc = ((probs > 0.5).float() == truth).float().mean().item()
        print(f"Epoch {epoch:02d}: loss {epoch_loss / len(train_loader):.4f} | acc {acc:.3f} | "
              f"auc {roc_auc_score(truth, probs):.3f} | probabilities {probs.min():.2f}..{probs.max():.2f}")
