import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

np.random.seed(0)
torch.manual_seed(0)

n = 1000
houses = pd.DataFrame({
    "area": np.random.uniform(40, 250, n),
    "rooms": np.random.randint(1, 8, n),
    "age": np.random.randint(0, 80, n),
    "distance": np.random.exponential(8, n),
})
houses["price"] = (2500 * houses.area + 9000 * houses.rooms - 800 * houses.age
                   - 4000 * houses.distance + np.random.randn(n) * 15000)

train = houses.sample(frac=0.8, random_state=0)
test = houses.drop(train.index)
cols = ["area", "rooms", "age", "distance"]
mu, sigma = train.mean(), train.std()
train_s, test_s = (train - mu) / sigma, (test - mu) / sigma

X_train = torch.tensor(train_s[cols].values, dtype=torch.float32)
y_train = torch.tensor(train_s["price"].values, dtype=torch.float32)
X_test = torch.tensor(test_s[cols].values, dtype=torch.float32)
y_test = torch.tensor(test_s["price"].values, dtype=torch.float32)

loader = DataLoader(TensorDataset(X_train, y_train), batch_size=50, shuffle=True)

model = nn.Sequential(
    nn.Linear(4, 32),
    nn.ReLU(),
    nn.Linear(32, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

for epoch in range(20):
    model.train()
    epoch_loss = 0
    for xb, yb in loader:
        pred = model(xb)
        loss = criterion(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    if (epoch + 1) % 5 == 0:
        print(f"epoch {epoch + 1}: train mse {epoch_loss / len(loader):.4f}")

model.eval()
with torch.no_grad():
    pred = model(X_test).squeeze(1)
rmse = ((pred - y_test) ** 2).mean().sqrt().item() * sigma["price"]
ss_res = ((pred - y_test) ** 2).sum()
ss_tot = ((y_test - y_test.mean()) ** 2).sum()
print(f"test RMSE {rmse:,.0f}  R2 {1 - (ss_res / ss_tot).item():.3f}")
