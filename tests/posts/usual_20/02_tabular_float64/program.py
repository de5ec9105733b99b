import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.manual_seed(42)
np.random.seed(42)

df = pd.DataFrame({
    "sqft": np.random.uniform(500, 4000, 600),
    "bedrooms": np.random.randint(1, 6, 600),
    "age": np.random.uniform(0, 80, 600),
    "distance": np.random.exponential(8.0, 600),
})
df["price"] = 0.2 * df.sqft + 15 * df.bedrooms - 1.1 * df.age - 3 * df.distance + np.random.randn(600) * 20

X = df.drop(columns="price").values
y = df[["price"]].values / 100.0

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

X_train = torch.from_numpy(X_train)
y_train = torch.from_numpy(y_train)
X_test = torch.from_numpy(X_test)
y_test = torch.from_numpy(y_test)

train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=32, shuffle=True)

model = nn.Sequential(
    nn.Linear(4, 64),
    nn.ReLU(),
    nn.Linear(64, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(20):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        pred = model(xb)
        loss = loss_fn(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    if epoch % 5 == 0:
        print(epoch, total / len(X_train))

model.eval()
with torch.no_grad():
    mse = loss_fn(model(X_test), y_test).item()
print("test rmse", mse ** 0.5)
