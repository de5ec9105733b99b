import numpy as np
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
rng = np.random.default_rng(2)


def make_structures(n=600, n_descriptors=12):
    features = rng.normal(size=(n, n_descriptors))
    weights = rng.normal(size=n_descriptors)
    energy = -350.0 + 6.0 * np.tanh(features @ weights / 3) + 0.8 * rng.normal(size=n)
    return features, energy.reshape(-1, 1)


class EnergyNet(nn.Module):
    def __init__(self, n_in, hidden=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_in, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
        )
        self.mean_head = nn.Linear(hidden, 1)
        self.var_head = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean_head(h), nn.functional.softplus(self.var_head(h)) + 1e-4


features, energy = make_structures()
x_train, x_test, e_train, e_test = train_test_split(features, energy, test_size=0.2, random_state=0)

x_scaler = StandardScaler().fit(x_train)
y_scaler = StandardScaler().fit(e_train)
x_train_t = torch.from_numpy(x_scaler.transform(x_train)).float()
x_test_t = torch.from_numpy(x_scaler.transform(x_test)).float()
y_train_t = torch.from_numpy(y_scaler.transform(e_train)).float()

model = EnergyNet(x_train_t.size(1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.GaussianNLLLoss()
loader = DataLoader(TensorDataset(x_train_t, y_train_t), batch_size=32, shuffle=True)

for epoch in range(20):
    model.train()
    total = 0.0
    for x, y in loader:
        mean, var = model(x)
        loss = criterion(mean, y, var)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * x.size(0)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: nll {total / len(x_train_t):.4f}")

model.eval()
with torch.no_grad():
    mean, var = model(x_test_t)
    std = var.sqrt()

y_pred = y_scaler.inverse_transform(mean.numpy().reshape(-1, 1))
y_std = std.numpy().reshape(-1, 1) * y_scaler.scale_

rmse = np.sqrt(np.mean((y_pred - e_test) ** 2))
print(f"rmse {rmse:.3f} eV")
for i in range(5):
    print(f"energy {e_test[i, 0]:9.3f}  predicted {y_pred[i, 0]:9.3f}  std {y_std[i, 0]:9.3f}")
