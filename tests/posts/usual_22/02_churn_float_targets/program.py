import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

# %% load the data
rng = np.random.default_rng(0)
df = pd.DataFrame({
    "age": rng.integers(18, 80, 500),
    "tenure": rng.integers(0, 72, 500),
    "monthly_charges": rng.uniform(20, 120, 500),
    "support_calls": rng.poisson(2, 500),
})
df["segment"] = pd.cut(df["monthly_charges"], bins=[0, 50, 90, 200], labels=[0, 1, 2]).astype(int)

# %% split and scale
X = df.drop(columns="segment").values
y = df["segment"].values
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

X_train = torch.tensor(X_train, dtype=torch.float32)
X_test = torch.tensor(X_test, dtype=torch.float32)
y_train = torch.tensor(y_train, dtype=torch.float32)
y_test = torch.tensor(y_test, dtype=torch.long)

train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=32, shuffle=True)

# %% model
model = nn.Sequential(
    nn.Linear(X_train.shape[1], 32),
    nn.ReLU(),
    nn.Linear(32, 3),
)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

# %% train
for epoch in range(5):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        logits = model(xb)
        loss = loss_fn(logits, yb)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())

# %% evaluate
model.eval()
with torch.no_grad():
    pred = model(X_test).argmax(dim=1)
print("accuracy", (pred == y_test).float().mean().item())
