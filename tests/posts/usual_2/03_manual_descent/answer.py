import numpy as np
import torch

# House prices: size, rooms, age, distance to the centre -> price
rng = np.random.default_rng(0)
n = 200
size = rng.uniform(30, 200, n)
rooms = rng.integers(1, 7, n)
age = rng.uniform(0, 80, n)
distance = rng.uniform(0, 25, n)
price = 2.5 * size + 12 * rooms - 0.8 * age - 4 * distance + rng.normal(0, 10, n)

X = np.stack([size, rooms, age, distance], axis=1)
X = (X - X.mean(0)) / X.std(0)
y = (price - price.mean()) / price.std()

inputs = torch.from_numpy(X.astype("float32"))
targets = torch.from_numpy(y.astype("float32")).unsqueeze(1)

n_train = 160
x_train, y_train = inputs[:n_train], targets[:n_train]
x_val, y_val = inputs[n_train:], targets[n_train:]

torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)


def model(x):
    return x @ w + b


def mse(t1, t2):
    diff = t1 - t2
    return (diff * diff).mean()


learning_rate = 0.1
for epoch in range(50):
    preds = model(x_train)
    loss = mse(preds, y_train)
    loss.backward()

    with torch.no_grad():
        w -= learning_rate * w.grad
        b -= learning_rate * b.grad
        w.grad.zero_()
        b.grad.zero_()

    if epoch % 10 == 0:
        with torch.no_grad():
            val = mse(model(x_val), y_val)
        print(f"epoch {epoch:3d}  train {loss.item():.4f}  val {val.item():.4f}")

print("weights:", w.detach().squeeze().tolist(), "bias:", b.item())
