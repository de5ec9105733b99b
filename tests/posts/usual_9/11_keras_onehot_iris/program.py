# Port of my Keras flower classifier (iris-like measurements) to PyTorch
import numpy as np
import pandas as pd
import torch
from torch import nn


def to_categorical(y, num_classes):
    """same as keras.utils.to_categorical"""
    return np.eye(num_classes, dtype="uint8")[y]


# ---- data -----------------------------------------------------------------
rng = np.random.default_rng(10)
centers = {"setosa": (5.0, 3.4, 1.5, 0.2), "versicolor": (5.9, 2.8, 4.3, 1.3), "virginica": (6.6, 3.0, 5.6, 2.0)}
cols = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
frames = []
for name, c in centers.items():
    f = pd.DataFrame(rng.normal(c, (0.4, 0.3, 0.4, 0.2), (50, 4)), columns=cols)
    f["species"] = name
    frames.append(f)
df = pd.concat(frames).sample(frac=1, random_state=1).reset_index(drop=True)

X = df[cols].to_numpy().astype("float32")
codes = df["species"].astype("category").cat.codes.to_numpy(copy=True)
y = to_categorical(codes, 3)

n_train = 120
mean, std = X[:n_train].mean(0), X[:n_train].std(0)
X = (X - mean) / std

x_train = torch.from_numpy(X[:n_train])
y_train = torch.from_numpy(y[:n_train]).long()
x_test = torch.from_numpy(X[n_train:])
y_test = torch.from_numpy(codes[n_train:]).long()

# ---- model.add(Dense(16, activation='relu')) ... --------------------------
model = nn.Sequential(
    nn.Linear(4, 16),
    nn.ReLU(),
    nn.Linear(16, 16),
    nn.ReLU(),
    nn.Linear(16, 3),
)


# ---- model.compile / model.fit --------------------------------------------
def fit(model, x, y, epochs=30, batch_size=16):
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    history = {"loss": []}
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(len(x))
        total = 0.0
        for i in range(0, len(x), batch_size):
            idx = order[i:i + batch_size]
            loss = loss_fn(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        history["loss"].append(total / len(x))
        if (epoch + 1) % 10 == 0:
            print(f"Epoch {epoch + 1}/{epochs} - loss: {history['loss'][-1]:.4f}")
    return history


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(dim=1) == y).float().mean().item()


torch.manual_seed(10)
history = fit(model, x_train, y_train)
print("test accuracy:", round(evaluate(model, x_test, y_test), 3))
