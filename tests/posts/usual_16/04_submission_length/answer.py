import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import Dataset, DataLoader

SEED = 2024
np.random.seed(SEED)
torch.manual_seed(SEED)

# ------------------------------------------------------------------ data
def fake_csv(n, first_id, with_target=True):
    df = pd.DataFrame({
        "id": np.arange(first_id, first_id + n),
        "age": np.random.randint(18, 90, n),
        "balance": np.random.gamma(2.0, 4000.0, n),
        "tenure": np.random.randint(0, 10, n),
        "products": np.random.randint(1, 5, n),
        "active": np.random.randint(0, 2, n),
    })
    if with_target:
        z = 0.04 * (df.age - 45) - 0.9 * df.active + 0.3 * (df.products - 2) - 0.4
        df["exited"] = (np.random.rand(n) < 1 / (1 + np.exp(-z))).astype(int)
    return df


train_df = fake_csv(2000, 0)
test_df = fake_csv(500, 2000, with_target=False)
FEATURES = ["age", "balance", "tenure", "products", "active"]

tr, va = train_test_split(train_df, test_size=0.2, random_state=SEED, stratify=train_df.exited)
scaler = StandardScaler().fit(tr[FEATURES])


class ChurnDataset(Dataset):
    def __init__(self, df):
        self.x = scaler.transform(df[FEATURES]).astype("float32")
        self.y = df["exited"].to_numpy("float32") if "exited" in df else None

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        if self.y is None:
            return self.x[i]
        return self.x[i], self.y[i]


BS = 64
train_loader = DataLoader(ChurnDataset(tr), batch_size=BS, shuffle=True, drop_last=True)
valid_loader = DataLoader(ChurnDataset(va), batch_size=BS)
test_loader = DataLoader(ChurnDataset(test_df), batch_size=BS, shuffle=False)

# ----------------------------------------------------------------- model
model = nn.Sequential(
    nn.Linear(len(FEATURES), 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2),
    nn.Linear(32, 16), nn.ReLU(),
    nn.Linear(16, 1),
)
loss_fn = nn.BCEWithLogitsLoss()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)

for epoch in range(5):
    model.train()
    for x, y in train_loader:
        opt.zero_grad()
        loss = loss_fn(model(x).squeeze(1), y)
        loss.backward()
        opt.step()
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in valid_loader:
            hits += ((model(x).squeeze(1) > 0).float() == y).sum().item()
    print(f"epoch {epoch}: valid acc {hits / len(va):.3f}")

# ------------------------------------------------------------ submission
preds = []
model.eval()
with torch.no_grad():
    for x in test_loader:
        preds.append(torch.sigmoid(model(x)).squeeze(1).numpy())
preds = np.concatenate(preds)

submission = pd.DataFrame({"id": test_df["id"].values, "exited": preds})
print(submission.head())
print(submission.describe())
