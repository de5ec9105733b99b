import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

rng = np.random.default_rng(1)
n = 400
df = pd.DataFrame({
    "Survived": rng.integers(0, 2, n),
    "Pclass": rng.integers(1, 4, n),
    "Sex": rng.choice(["male", "female"], n),
    "Age": np.where(rng.random(n) < 0.2, np.nan, rng.uniform(1, 80, n)),
    "Fare": rng.exponential(30, n),
    "Embarked": rng.choice(["S", "C", "Q"], n),
})


def preprocess(df):
    df = df.copy()
    df["Age"] = df["Age"].fillna(df["Age"].median())
    for col in ["Age", "Fare"]:
        df[col] = (df[col] - df[col].mean()) / df[col].std()
    df = pd.get_dummies(df, columns=["Pclass", "Sex", "Embarked"])
    return df


data = preprocess(df)
print(data.isna().sum().sum(), "missing values,", data.shape[1], "columns")

train = data.sample(frac=0.8, random_state=0)
test = data.drop(train.index)


def to_loader(frame, shuffle):
    features = frame.drop(columns="Survived").values
    labels = frame["Survived"].values
    X = torch.tensor(features, dtype=torch.float32)
    y = torch.tensor(labels, dtype=torch.float32).unsqueeze(1)
    return DataLoader(TensorDataset(X, y), batch_size=32, shuffle=shuffle)


train_loader = to_loader(train, shuffle=True)
test_loader = to_loader(test, shuffle=False)

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(data.shape[1] - 1, 32), nn.ReLU(), nn.Dropout(0.2),
    nn.Linear(32, 16), nn.ReLU(),
    nn.Linear(16, 1),
)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(5):
    model.train()
    for X, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(X), y)
        loss.backward()
        optimizer.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for X, y in test_loader:
            correct += ((model(X) > 0).float() == y).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.4f}, test acc {correct / len(test):.3f}")
