# Ported from the old tf.keras notebook (Sequential + compile + fit) to PyTorch.
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

np.random.seed(0)
torch.manual_seed(0)

# --- data: sex, length, diameter, height, four weights -> rings
N = 1200
length = np.random.beta(5, 3, N)
X = np.column_stack([
    np.random.randint(0, 3, N),
    length,
    0.8 * length + np.random.normal(0, 0.02, N),
    0.27 * length + np.random.normal(0, 0.02, N),
    2.5 * length ** 3 + np.random.normal(0, 0.05, N),
    1.1 * length ** 3 + np.random.normal(0, 0.03, N),
    0.5 * length ** 3 + np.random.normal(0, 0.02, N),
    0.7 * length ** 3 + np.random.normal(0, 0.03, N),
]).astype("float32")
y = np.round(3 + 14 * length + 1.2 * X[:, 0] + np.random.normal(0, 0.8, N)).astype("float32")

split = int(0.8 * N)
mean, std = X[:split].mean(axis=0), X[:split].std(axis=0)
X = (X - mean) / std

X_train, X_val = torch.tensor(X[:split]), torch.tensor(X[split:])
y_train, y_val = torch.tensor(y[:split]), torch.tensor(y[split:])

# --- model
model = nn.Sequential(
    nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(64, 1),
    nn.Flatten(0),
)
optimizer = torch.optim.RMSprop(model, lr=1e-3)


def evaluate(model, X, y):
    with torch.no_grad():
        pred = model(X)
        return F.mse_loss(pred, y).item(), (pred - y).abs().mean().item()


def fit(model, X, y, validation_data, epochs, batch_size):
    history = {"loss": [], "val_loss": [], "val_mae": []}
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(len(X))
        total = 0.0
        for start in range(0, len(X), batch_size):
            idx = order[start:start + batch_size]
            loss = F.mse_loss(model(X[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        val_loss, val_mae = evaluate(model, *validation_data)
        history["loss"].append(total / len(X))
        history["val_loss"].append(val_loss)
        history["val_mae"].append(val_mae)
        if (epoch + 1) % 10 == 0:
            print(f"Epoch {epoch + 1}/{epochs} - loss: {history['loss'][-1]:.3f} "
                  f"- val_loss: {val_loss:.3f} - val_mae: {val_mae:.3f}")
    return history


history = fit(model, X_train, y_train, (X_val, y_val), epochs=50, batch_size=32)
best = int(np.argmin(history["val_loss"]))
print("best epoch:", best + 1, "val_mae:", round(history["val_mae"][best], 3))
