# Kaggle: telco churn baseline in PyTorch
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader
from sklearn.model_selection import train_test_split
from sklearn.metrics import roc_auc_score

rng = np.random.default_rng(7)
n = 1400
tenure = rng.integers(0, 73, n)
monthly = rng.uniform(18, 118, n).round(2)
total = (tenure * monthly).round(2)
contract = rng.choice(["Month-to-month", "One year", "Two year"], n, p=[0.55, 0.21, 0.24])
logit = 0.8 * (contract == "Month-to-month") - 0.04 * tenure + 0.012 * monthly - 0.6
df = pd.DataFrame({
    "tenure": tenure,
    "MonthlyCharges": monthly,
    "TotalCharges": [" " if t == 0 else str(v) for t, v in zip(tenure, total)],
    "SeniorCitizen": rng.integers(0, 2, n),
    "Contract": contract,
    "Churn": np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "Yes", "No"),
})

df["Contract"] = df["Contract"].map({"Month-to-month": 0, "One year": 1, "Two year": 2})
df["Churn"] = (df["Churn"] == "Yes").astype(int)
num_cols = ["tenure", "MonthlyCharges", "SeniorCitizen"]

train_df, val_df = train_test_split(df, test_size=0.2, random_state=0, stratify=df["Churn"])
train_df, val_df = train_df.copy(), val_df.copy()
mean, std = train_df[num_cols].mean(), train_df[num_cols].std()
for part in (train_df, val_df):
    part[num_cols] = ((part[num_cols] - mean) / std).astype(float)


def to_tensors(part):
    X = torch.tensor(part.drop(columns="Churn").values, dtype=torch.float32)
    y = torch.tensor(part["Churn"].values, dtype=torch.float32).unsqueeze(1)
    return X, y


X_train, y_train = to_tensors(train_df)
X_val, y_val = to_tensors(val_df)
train_dl = DataLoader(TensorDataset(X_train, y_train), batch_size=64, shuffle=True)

model = nn.Sequential(
    nn.Linear(X_train.shape[1], 32), nn.ReLU(), nn.Dropout(0.1),
    nn.Linear(32, 16), nn.ReLU(),
    nn.Linear(16, 1),
)
loss_fn = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-4)

for epoch in range(15):
    model.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        p = torch.sigmoid(model(X_val)).squeeze(1).numpy()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d}  val AUC {roc_auc_score(y_val.squeeze(1).numpy(), p):.3f}")
