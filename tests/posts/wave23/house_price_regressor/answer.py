import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset


def make_houses(n=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "area": rng.normal(120, 30, n),
        "rooms": rng.integers(1, 8, n),
        "age": rng.uniform(0, 60, n),
        "distance": rng.exponential(8, n),
    })
    frame["price"] = (2.0 * frame["area"] + 15 * frame["rooms"] - 0.8 * frame["age"]
                      - 4 * frame["distance"] + rng.normal(0, 5, n))
    return frame


class PriceNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, 32),
            nn.ReLU(),
            nn.Linear(32, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.layers(x)


def predict(model, x):
    model.eval()
    with torch.no_grad():
        return model(torch.tensor(x, dtype=torch.float32)).numpy().ravel()


torch.manual_seed(0)
houses = make_houses()
features = houses.drop(columns="price").to_numpy()
prices = houses["price"].to_numpy()
x_train, x_test, y_train, y_test = train_test_split(features, prices, test_size=0.2, random_state=0)

x_scaler = StandardScaler().fit(x_train)
x_train, x_test = x_scaler.transform(x_train), x_scaler.transform(x_test)
y_mean, y_std = y_train.mean(), y_train.std()

inputs = torch.tensor(x_train, dtype=torch.float32)
targets = torch.tensor((y_train - y_mean) / y_std, dtype=torch.float32)
loader = DataLoader(TensorDataset(inputs, targets), batch_size=32, shuffle=True)

model = PriceNet(inputs.shape[1])
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(30):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        pred = model(x)
        loss = criterion(pred, y.reshape(-1, 1))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    if (epoch + 1) % 10 == 0:
        print(f"epoch {epoch + 1}: train mse {total / len(inputs):.4f}")

y_pred = predict(model, x_test) * y_std + y_mean
print("test r2:", round(r2_score(y_test, y_pred), 3))
print("std of predictions:", round(float(y_pred.std()), 2), "of prices:", round(float(y_test.std()), 2))
