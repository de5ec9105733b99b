import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(7)
torch.manual_seed(7)

# --- data -----------------------------------------------------------------
n = 600
df = pd.DataFrame({
    "area": rng.uniform(30, 250, n),
    "rooms": rng.integers(1, 8, n),
    "age": rng.uniform(0, 90, n),
    "distance": rng.exponential(6.0, n),
})
df["price"] = 2.1 * df["area"] + 14 * df["rooms"] - 0.8 * df["age"] - 3.0 * df["distance"] + rng.normal(0, 10, n)

features = ["area", "rooms", "age", "distance"]
train_df, test_df = train_test_split(df, test_size=0.2, random_state=7)

x_scaler = StandardScaler().fit(train_df[features])
price_mean, price_std = train_df["price"].mean(), train_df["price"].std()


def to_tensors(frame):
    X = torch.from_numpy(x_scaler.transform(frame[features])).float()
    y = torch.from_numpy(((frame["price"] - price_mean) / price_std).to_numpy()).float()
    return X, y.unsqueeze(1)


X_train, y_train = to_tensors(train_df)
X_test, y_test = to_tensors(test_df)
train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=32, shuffle=True)

# --- model ----------------------------------------------------------------
model = nn.Sequential(
    nn.Linear(len(features), 64),
    nn.ReLU(),
    nn.Linear(64, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# --- training -------------------------------------------------------------
for epoch in range(15):
    model.train()
    epoch_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        pred = model(xb)
        loss = loss_fn(pred, yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(xb)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:3d}  train mse {epoch_loss / len(X_train):.4f}")

model.eval()
with torch.no_grad():
    test_mse = loss_fn(model(X_test), y_test).item()
print(f"test rmse: {test_mse ** 0.5 * price_std:.2f} thousand")
