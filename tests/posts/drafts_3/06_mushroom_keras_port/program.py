"""
Mushroom edibility classifier.

Ported from the Keras version of last year (model.fit with validation_split=0.2).
"""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(42)
rng = np.random.default_rng(42)

# 22 categorical attributes, one-hot encoded to 6 values each
n_samples, n_attr, n_values = 1000, 22, 6
codes = rng.integers(0, n_values, size=(n_samples, n_attr))
x = np.eye(n_values, dtype="float32")[codes].reshape(n_samples, -1)
y = ((codes[:, 0] + codes[:, 4] + codes[:, 8]) > 7).astype("float32").reshape(-1, 1)

x_test, y_test = torch.from_numpy(x[800:]), torch.from_numpy(y[800:])
x_fit, y_fit = torch.from_numpy(x[:800]), torch.from_numpy(y[:800])

model = nn.Sequential(
    nn.Linear(x.shape[1], 64),
    nn.ReLU(),
    nn.BatchNorm1d(64),
    nn.Dropout(0.5),
    nn.Linear(32, 32),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(32, 1),
)
optimizer = torch.optim.Adam(model.parameters())
loss_fn = nn.BCELoss()


def predict(model, x, batch_size=100):
    outputs = []
    with torch.no_grad():
        for i in range(0, len(x), batch_size):
            outputs.append(model(x[i:i + batch_size]))
    return torch.cat(outputs)


def accuracy(prob, y):
    return ((prob > 0.5).float() == y).float().mean().item()


def fit(model, x, y, epochs=10, batch_size=32, validation_split=0.2):
    n_val = int(len(x) * validation_split)
    x_train, y_train = x[:-n_val], y[:-n_val]
    x_val, y_val = x[-n_val:], y[-n_val:]
    history = {"loss": [], "val_acc": []}
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(len(x_train))
        total = 0.0
        for i in range(0, len(order), batch_size):
            batch = order[i:i + batch_size]
            optimizer.zero_grad()
            loss = loss_fn(model(x_train[batch]), y_train[batch])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        history["loss"].append(total / len(x_train))
        history["val_acc"].append(accuracy(predict(model, x_val), y_val))
        print(f"Epoch {epoch + 1}/{epochs} - loss: {history['loss'][-1]:.4f}"
              f" - val_accuracy: {history['val_acc'][-1]:.4f}")
    return history


history = fit(model, x_fit, y_fit)
print("test accuracy:", round(accuracy(predict(model, x_test), y_test), 4))
