"""Credit card fraud (imbalanced tabular data), my baseline notebook as a script."""
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

SEED = 2024
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)


def load_transactions(n=4000, fraud_rate=0.03, n_features=20):
    y = (rng.random(n) < fraud_rate).astype(int)
    X = rng.normal(size=(n, n_features))
    X[y == 1, :4] += 1.1
    df = pd.DataFrame(X, columns=[f"V{i + 1}" for i in range(n_features)])
    df["Class"] = y
    return df


df = load_transactions()
print("class counts:", df["Class"].value_counts().to_dict())

train_df, test_df = train_test_split(
    df, test_size=0.25, stratify=df["Class"], random_state=SEED
)

# the model ignores the frauds otherwise, so bring both classes to the same size
fraud = train_df[train_df["Class"] == 1]
normal = train_df[train_df["Class"] == 0]
fraud_up = fraud.sample(len(normal), replace=True, random_state=SEED)
train_df = pd.concat([normal, fraud_up]).sample(frac=1, random_state=SEED)
print("after balancing:", train_df["Class"].value_counts().to_dict())

cols = [c for c in df.columns if c != "Class"]
mu, sd = train_df[cols].mean(), train_df[cols].std()


def to_tensors(frame):
    x = ((frame[cols] - mu) / sd).to_numpy(dtype="float32")
    return torch.tensor(x), torch.tensor(frame["Class"].to_numpy(dtype="float32"))


X_train, y_train = to_tensors(train_df)
X_test, y_test = to_tensors(test_df)
loader = DataLoader(TensorDataset(X_train, y_train), batch_size=128, shuffle=True)

model = nn.Sequential(
    nn.Linear(len(cols), 128), nn.ReLU(),
    nn.Linear(128, 128), nn.ReLU(),
    nn.Linear(128, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(15):
    model.train()
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb).squeeze(1), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(yb)
    if (epoch + 1) % 5 == 0:
        print(f"epoch {epoch + 1:2d}  loss {running / len(y_train):.4f}")

model.eval()
with torch.no_grad():
    pred = (model(X_test).squeeze(1) > 0).int().numpy()
truth = y_test.int().numpy()
print("test precision %.3f" % precision_score(truth, pred, zero_division=0))
print("test recall    %.3f" % recall_score(truth, pred))
print("test F1        %.3f" % f1_score(truth, pred))
