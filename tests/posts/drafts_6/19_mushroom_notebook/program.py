# %% [markdown]
# # Mushrooms: chanterelle, false chanterelle or jack-o'-lantern?
# Measurements from the autumn walks of the club.

# %%
import numpy as np
import pandas as pd
import torch
from torch import nn

torch.manual_seed(7)
rng = np.random.default_rng(7)

# %%
names = ["chanterelle", "false chanterelle", "jack-o-lantern"]
rows = []
for _ in range(900):
    k = rng.integers(0, 3)
    rows.append({
        "cap_cm": rng.normal([6.0, 5.0, 9.0][k], 1.5),
        "stem_cm": rng.normal([5.0, 4.0, 9.0][k], 1.5),
        "gill_depth_mm": rng.normal([1.5, 3.0, 4.0][k], 0.8),
        "hue": rng.normal([42, 30, 26][k], 5),
        "species": names[k],
    })
walks = pd.DataFrame(rows)
walks.groupby("species").mean()

# %%
features = walks.drop(columns="species")
X = torch.tensor(features.to_numpy(), dtype=torch.float32)
y = torch.tensor(walks["species"].map(names.index).to_numpy())

# %%
# shuffle before the split
X = X[torch.randperm(len(X))]
y = y[torch.randperm(len(y))]

n_train = 700
X_train, X_test = X[:n_train], X[n_train:]
y_train, y_test = y[:n_train], y[n_train:]
mean, std = X_train.mean(dim=0), X_train.std(dim=0)
X_train, X_test = (X_train - mean) / std, (X_test - mean) / std
X_train.shape, X_test.shape

# %%
net = nn.Sequential(
    nn.Linear(4, 32),
    nn.ReLU(),
    nn.Linear(32, 32),
    nn.ReLU(),
    nn.Linear(32, len(names)),
)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)

# %%
history = []
for epoch in range(20):
    epoch_loss = 0.0
    for start in range(0, n_train, 50):
        xb = X_train[start:start + 50]
        yb = y_train[start:start + 50]
        logits = net(xb)
        loss = loss_fn(logits, yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(xb)
    history.append(epoch_loss / n_train)

for epoch in range(0, 20, 4):
    print(f"epoch {epoch:2d}: {history[epoch]:.4f}")
print(f"last: {history[-1]:.4f}")

# %%
with torch.no_grad():
    predicted = net(X_test).argmax(dim=1)
accuracy = (predicted == y_test).float().mean()
print(f"test accuracy {accuracy:.3f}")
print(pd.crosstab(y_test.numpy(), predicted.numpy(), rownames=["true"], colnames=["predicted"]))
