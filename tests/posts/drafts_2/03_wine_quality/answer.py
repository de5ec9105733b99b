import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# %% data
torch.manual_seed(42)
rng = np.random.default_rng(42)
n = 800
df = pd.DataFrame({
    "alcohol": rng.normal(10.4, 1.1, n),
    "sulphates": rng.normal(0.65, 0.15, n),
    "volatile_acidity": rng.normal(0.52, 0.18, n),
    "ph": rng.normal(3.3, 0.15, n),
    "density": rng.normal(0.9967, 0.002, n),
})
df["quality"] = (
    5.6 + 0.5 * (df.alcohol - 10.4) + 1.5 * (df.sulphates - 0.65)
    - 1.2 * (df.volatile_acidity - 0.52) + rng.normal(0, 0.3, n)
)
df.describe()

# %% split and scale
features = [c for c in df.columns if c != "quality"]
X_train, X_test, y_train, y_test = train_test_split(
    df[features].values, df["quality"].values, test_size=0.2, random_state=0
)
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

X_train = torch.tensor(X_train, dtype=torch.float32)
X_test = torch.tensor(X_test, dtype=torch.float32)
y_train = torch.tensor(y_train, dtype=torch.float32)
y_test = torch.tensor(y_test, dtype=torch.float32)

train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=32, shuffle=True)

# %% model
model = nn.Sequential(
    nn.Linear(len(features), 32),
    nn.ReLU(),
    nn.Linear(32, 16),
    nn.ReLU(),
    nn.Linear(16, 1),
)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

# %% training
history = []
for epoch in range(30):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        pred = model(xb)
        loss = loss_fn(pred, yb.unsqueeze(1))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    history.append(total / len(X_train))
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1:3d}  mse {history[-1]:.4f}")

# %% evaluation
model.eval()
with torch.no_grad():
    test_pred = model(X_test).squeeze(1)
rmse = torch.sqrt(torch.mean((test_pred - y_test) ** 2)).item()
print(f"test RMSE: {rmse:.3f}")
print(pd.DataFrame({"true": y_test[:5].numpy(), "predicted": test_pred[:5].numpy()}))
