# coding: utf-8
# chapter notes: logistic regression, versicolor vs. setosa
import numpy as np
import torch
from torch import nn, optim
from sklearn.datasets import load_iris

iris = load_iris()

# only the first two species (100 rows)
X = iris.data[:100]
y = iris.target[:100]
print(X.shape, y.shape)

# ---- to tensors ----
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(y, dtype=torch.float32)

mean = X.mean(dim=0)
std = X.std(dim=0)
X = (X - mean) / std

# ---- model ----
torch.manual_seed(0)
net = nn.Linear(4, 1)

# sigmoid is inside of the loss
loss_fn = nn.BCEWithLogitsLoss()
optimizer = optim.SGD(net.parameters(), lr=0.25)

# ---- training ----
losses = []
for epoch in range(100):
    optimizer.zero_grad()

    y_pred = net(X)

    loss = loss_fn(y_pred.view_as(y), y)
    loss.backward()
    optimizer.step()

    losses.append(loss.item())
    if epoch % 20 == 0:
        print("epoch", epoch, "loss", round(losses[-1], 4))

# ---- evaluation ----
with torch.no_grad():
    h = net(X)
    prob = torch.sigmoid(h)
    y_hat = prob > 0.5

correct = (y.byte() == y_hat.view_as(y).byte()).sum().item()
print("accuracy %.2f" % (correct / len(y)))

w = net.weight.detach().numpy().ravel()
for name, value in zip(iris.feature_names, w):
    print("%-20s %+.3f" % (name, value))
print("loss went from %.3f to %.3f" % (np.max(losses), np.min(losses)))
