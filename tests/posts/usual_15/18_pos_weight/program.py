# Kaggle-style notebook: credit card fraud with a weighted BCE
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.model_selection import train_test_split
from sklearn.metrics import precision_score, recall_score, f1_score
from sklearn.preprocessing import StandardScaler

SEED = 11
np.random.seed(SEED)
torch.manual_seed(SEED)

N = 6000
fraud = (np.random.rand(N) < 0.04).astype(int)
df = pd.DataFrame(np.random.randn(N, 10), columns=[f"V{i}" for i in range(1, 11)])
df["V3"] += 1.4 * fraud
df["V7"] -= 1.2 * fraud
df["Amount"] = np.exp(np.random.normal(3, 1, N) + 0.5 * fraud)
df["Class"] = fraud

df["Amount"] = np.log1p(df["Amount"])
X, y = df.drop(columns="Class"), df["Class"]
X_train, X_valid, y_train, y_valid = train_test_split(X, y, test_size=0.25, stratify=y, random_state=SEED)

scaler = StandardScaler().fit(X_train)
X_train = torch.tensor(scaler.transform(X_train), dtype=torch.float32)
X_valid = torch.tensor(scaler.transform(X_valid), dtype=torch.float32)
y_train_t = torch.tensor(y_train.values, dtype=torch.float32)

loader = DataLoader(TensorDataset(X_train, y_train_t), batch_size=256, shuffle=True)


class FraudNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, 32),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Linear(32, 16),
            nn.ReLU(),
            nn.Linear(16, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


model = FraudNet(X_train.shape[1])

n_fraud = y_train_t.sum()
n_legit = len(y_train_t) - n_fraud
print(f"{int(n_fraud)} frauds and {int(n_legit)} legitimate transactions in the training set")
pos_weight = n_fraud / n_legit
criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(1, 16):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    if epoch % 5 == 0:
        model.eval()
        with torch.no_grad():
            prob = torch.sigmoid(model(X_valid)).numpy()
        pred = (prob > 0.5).astype(int)
        print(
            f"epoch {epoch:2d}  loss {total / len(X_train):.4f}"
            f"  precision {precision_score(y_valid, pred, zero_division=0):.3f}"
            f"  recall {recall_score(y_valid, pred):.3f}"
            f"  f1 {f1_score(y_valid, pred):.3f}"
        )
