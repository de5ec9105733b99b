import numpy as np
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(7)
X = rng.normal([50, 3, 1000], [12, 1, 300], size=(400, 3))
price = 2.0 * X[:, 0] - 8.0 * X[:, 1] + 0.03 * X[:, 2] + rng.normal(0, 1, 400)
X_tr, X_te, y_tr, y_te = train_test_split(X, price, test_size=0.25, random_state=0)

x_scaler, y_scaler = StandardScaler(), StandardScaler()
X_tr = x_scaler.fit_transform(X_tr)
X_te = x_scaler.transform(X_te)
y_mean, y_std = y_tr.mean(), y_tr.std()
y_tr = (y_tr - y_mean) / y_std

xt = torch.tensor(X_tr, dtype=torch.float32)
yt = torch.tensor(y_tr, dtype=torch.float32).unsqueeze(1)
net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(200):
    opt.zero_grad()
    nn.functional.mse_loss(net(xt), yt).backward()
    opt.step()

with torch.no_grad():
    pred = net(torch.tensor(X_te, dtype=torch.float32)).numpy()
pred = y_scaler.inverse_transform(pred).ravel()
print("test MAE", np.abs(pred - y_te).mean())
