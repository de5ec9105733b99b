import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

# %% load data
rng = np.random.default_rng(42)
df = pd.DataFrame({
    "area": rng.normal(120, 30, 500),
    "rooms": rng.integers(1, 7, 500),
    "age": rng.uniform(0, 60, 500),
    "distance": rng.exponential(5, 500),
})
df["price"] = 2.0 * df["area"] + 15 * df["rooms"] - 0.8 * df["age"] - 3 * df["distance"] + rng.normal(0, 10, 500)

X = df.drop(columns="price").values
y = df[["price"]].values / 100

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

# %% to tensors
X_train = torch.from_numpy(X_train).float()
y_train = torch.from_numpy(y_train).float()
X_test = torch.from_numpy(X_test).float()
y_test = torch.from_numpy(y_test).float()

# %% model
model = nn.Sequential(
    nn.Linear(4, 64),
    nn.ReLU(),
    nn.Linear(64, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

# %% train
for epoch in range(100):
    pred = model(X_train)
    loss = loss_fn(pred, y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(epoch, loss.item())

model.eval()
with torch.no_grad():
    print("test mse", loss_fn(model(X_test), y_test).item())
