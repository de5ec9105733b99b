import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split


def load_customers(n=800, seed=0):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "tenure": rng.integers(1, 72, n),
        "monthly_charges": rng.normal(65, 25, n).round(2),
        "contract": rng.choice(["month", "one_year", "two_year"], n),
        "payment": rng.choice(["card", "check", "transfer"], n),
    })
    p = 1 / (1 + np.exp(0.06 * df["tenure"] - 0.02 * df["monthly_charges"]))
    df["churn"] = (rng.random(n) < p).astype(int)
    return df


class ChurnNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, 32),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


torch.manual_seed(0)
df = load_customers()
df = pd.get_dummies(df, columns=["contract", "payment"], drop_first=True, dtype=float)
train_df, test_df = train_test_split(df, test_size=0.25, random_state=0, stratify=df["churn"])
train_df, test_df = train_df.copy(), test_df.copy()

num_cols = ["tenure", "monthly_charges"]
mean, std = train_df[num_cols].mean(), train_df[num_cols].std()
train_df[num_cols] = (train_df[num_cols] - mean) / std
test_df[num_cols] = (test_df[num_cols] - mean) / std

features = [c for c in df.columns if c != "churn"]
X_train = torch.tensor(train_df[features].values, dtype=torch.float32)
y_train = torch.tensor(train_df["churn"].values, dtype=torch.float32)
X_test = torch.tensor(test_df[features].values, dtype=torch.float32)
y_test = test_df["churn"].values

model = ChurnNet(len(features))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(20):
    model.train()
    perm = torch.randperm(len(X_train))
    for idx in perm.split(50):
        optimizer.zero_grad()
        loss = criterion(model(X_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()

model.eval()
with torch.no_grad():
    prob = torch.sigmoid(model(X_test)).numpy()
print("test AUC: %.3f" % roc_auc_score(y_test, prob))
