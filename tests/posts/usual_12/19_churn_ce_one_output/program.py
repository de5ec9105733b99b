import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

# telecom churn, Kaggle style notebook
np.random.seed(3)
torch.manual_seed(3)

n = 2000
raw = pd.DataFrame({
    "tenure": np.random.randint(1, 72, n),
    "monthly": np.random.normal(65, 25, n).clip(18, 120),
    "contract": np.random.choice(["month", "one_year", "two_year"], n, p=[0.55, 0.25, 0.2]),
    "paperless": np.random.choice(["Yes", "No"], n),
})
logit = 1.2 * (raw.contract == "month") - 0.05 * (raw.tenure - 30) + 0.02 * (raw.monthly - 65) - 0.9
raw["churn"] = np.where(np.random.rand(n) < 1 / (1 + np.exp(-logit)), "Yes", "No")
raw.to_csv("churn.csv", index=False)

df = pd.read_csv("churn.csv")
df["churn"] = (df["churn"] == "Yes").astype(int)
df["paperless"] = (df["paperless"] == "Yes").astype(int)
df = pd.get_dummies(df, columns=["contract"], dtype=int)
print(df.head())

train_df = df.sample(frac=0.8, random_state=3)
test_df = df.drop(train_df.index)
feats = [c for c in df.columns if c != "churn"]
mean, std = train_df[feats].mean(), train_df[feats].std()


def tensors(part):
    x = ((part[feats] - mean) / std).to_numpy(dtype=np.float32)
    y = part["churn"].to_numpy(dtype=np.float32).reshape(-1, 1)
    return torch.from_numpy(x), torch.from_numpy(y)


x_train, y_train = tensors(train_df)
x_test, y_test = tensors(test_df)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)


class ChurnNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, 32),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(32, 16),
            nn.ReLU(),
            nn.Linear(16, 1),
        )

    def forward(self, x):
        return self.layers(x)


model = ChurnNet(len(feats))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

EPOCHS = 10
for epoch in range(EPOCHS):
    model.train()
    running_loss = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * x.size(0)
    model.eval()
    with torch.no_grad():
        pred = (torch.sigmoid(model(x_test)) > 0.5).float()
        acc = (pred == y_test).float().mean().item()
    print(f"Epoch {epoch + 1:2d}/{EPOCHS}  loss: {running_loss / len(x_train):.4f}  test acc: {acc:.4f}")
