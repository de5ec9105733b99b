import pandas as pd
import torch
import torch.nn as nn
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(1)

# ---- load ----
raw = load_wine(as_frame=True)
df = raw.frame.rename(columns={"target": "cultivar"})
df["alcohol_x_hue"] = df["alcohol"] * df["hue"]
print(df.shape, df["cultivar"].value_counts().to_dict())

train_df, valid_df = train_test_split(df, test_size=0.25, stratify=df["cultivar"], random_state=7)
features = [c for c in df.columns if c != "cultivar"]

scaler = StandardScaler().fit(train_df[features])


def to_dataset(frame):
    frame = frame.copy()
    frame[features] = scaler.transform(frame[features])
    data = torch.tensor(frame[features + ["cultivar"]].values, dtype=torch.float32)
    return TensorDataset(data[:, :-1], data[:, -1].long())


train_dl = DataLoader(to_dataset(train_df), batch_size=16, shuffle=True)
valid_dl = DataLoader(to_dataset(valid_df), batch_size=64)

# ---- model ----
model = nn.Sequential(
    nn.Linear(len(features), 32),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(32, 16),
    nn.ReLU(),
    nn.Linear(16, 3),
)
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-4)

# ---- train ----
history = []
for epoch in range(15):
    model.train()
    total = 0.0
    for xb, yb in train_dl:
        opt.zero_grad()
        logits = model(xb)
        loss = loss_fn(logits, yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)

    model.eval()
    right = 0
    with torch.no_grad():
        for xb, yb in valid_dl:
            right += (model(xb).argmax(dim=1) == yb).sum().item()
    history.append({"epoch": epoch, "train": total / len(train_df), "acc": right / len(valid_df)})

print(pd.DataFrame(history).tail(3).round(3))
