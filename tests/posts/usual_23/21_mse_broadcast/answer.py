import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rng = np.random.default_rng(0)

# taxi trips
n = 1000
df = pd.DataFrame({
    "distance_km": rng.gamma(2.0, 3.0, n),
    "hour": rng.integers(0, 24, n),
    "passengers": rng.integers(1, 5, n),
    "airport": rng.integers(0, 2, n),
})
df["fare"] = 3 + 1.8 * df["distance_km"] + 8 * df["airport"] + rng.normal(0, 1, n)

X = df.drop(columns="fare").to_numpy(dtype=np.float32)
y = df["fare"].to_numpy(dtype=np.float32)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)

x_scaler = StandardScaler().fit(X_train)
X_train, X_test = x_scaler.transform(X_train), x_scaler.transform(X_test)
y_mean, y_std = y_train.mean(), y_train.std()

train_ds = TensorDataset(
    torch.from_numpy(X_train),
    torch.from_numpy((y_train - y_mean) / y_std),
)
train_dl = DataLoader(train_ds, batch_size=50, shuffle=True)


class FareModel(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 64)
        self.fc2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.out(x).squeeze(1)


model = FareModel(X_train.shape[1])
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(30):
    model.train()
    total = 0.0
    for xb, yb in train_dl:
        pred = model(xb)
        loss = loss_fn(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    if (epoch + 1) % 10 == 0:
        print(f"epoch {epoch + 1}: train mse {total / len(train_ds):.4f}")

model.eval()
with torch.no_grad():
    fare = model(torch.from_numpy(X_test)).numpy() * y_std + y_mean
print("R2 on test:", round(r2_score(y_test, fare), 3))
