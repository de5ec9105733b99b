import numpy as np
import pandas as pd
import torch
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

RNG = np.random.default_rng(17)
torch.manual_seed(17)


def customers(n):
    frame = pd.DataFrame({
        "months": RNG.integers(1, 72, n),
        "monthly_fee": RNG.normal(60, 20, n),
        "tickets": RNG.poisson(1.5, n),
        "auto_pay": RNG.integers(0, 2, n),
        "usage_gb": RNG.gamma(2.0, 10.0, n),
    })
    score = (
        -0.06 * (frame.months - 36)
        + 0.04 * (frame.monthly_fee - 60)
        + 0.9 * (frame.tickets - 1.5)
        - 1.2 * (frame.auto_pay - 0.5)
    )
    frame["churned"] = (RNG.random(n) < 1 / (1 + np.exp(-1.5 * score))).astype(int)
    return frame


class ChurnNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, 32),
            nn.ReLU(),
            nn.Linear(32, 16),
            nn.ReLU(),
            nn.Linear(16, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


df = customers(2400)
X = df.drop(columns="churned")
y = df["churned"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
scaler = StandardScaler().fit(X_train)
X_train = torch.tensor(scaler.transform(X_train), dtype=torch.float32)
X_test = torch.tensor(scaler.transform(X_test), dtype=torch.float32)
y_train = torch.tensor(y_train.values, dtype=torch.float32)

loader = DataLoader(TensorDataset(X_train, y_train), batch_size=64, shuffle=True)
model = ChurnNet(X_train.shape[1])
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(15):
    model.train()
    losses = []
    for features, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(features), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2d} loss {np.mean(losses):.4f}")

model.eval()
with torch.no_grad():
    proba = torch.sigmoid(model(X_test)).numpy()
report = pd.DataFrame({"churned": y_test.values, "proba": proba})
print(report.proba.describe()[["min", "50%", "max"]].round(3).to_dict())
print(f"auc {roc_auc_score(report.churned, report.proba):.3f}  log loss {log_loss(report.churned, report.proba):.3f}")
