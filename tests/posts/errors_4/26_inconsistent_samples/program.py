import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(210, 16)
y = (x[:, 0] * x[:, 1] > 0).long()
train = DataLoader(TensorDataset(x[:160], y[:160]), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(x[160:], y[160:]), batch_size=32, drop_last=True)

net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)


def predict(net, loader):
    preds = []
    net.eval()
    with torch.no_grad():
        for xb, _ in loader:
            preds.append(net(xb).argmax(1).numpy())
    return np.concatenate(preds)


for epoch in range(15):
    net.train()
    for xb, yb in train:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    score = f1_score(y[160:].numpy(), predict(net, valid))
    if epoch % 5 == 0:
        print(f"epoch {epoch} f1 {score:.3f}")
