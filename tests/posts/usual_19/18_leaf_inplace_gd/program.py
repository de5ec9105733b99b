import numpy as np
import torch

# Linear regression from scratch
np.random.seed(0)
torch.manual_seed(0)

n_samples = 200
true_w = torch.tensor([[2.0], [-3.4], [0.7]])
true_b = 4.2

X = torch.randn(n_samples, 3)
y = X @ true_w + true_b + 0.05 * torch.randn(n_samples, 1)

w = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)

lr = 0.1
n_epochs = 100


def forward(X):
    return X @ w + b


def mse(y_pred, y):
    return ((y_pred - y) ** 2).mean()


for epoch in range(n_epochs):
    y_pred = forward(X)
    loss = mse(y_pred, y)
    loss.backward()

    w -= lr * w.grad
    b -= lr * b.grad

    w.grad.zero_()
    b.grad.zero_()

    if epoch % 20 == 0:
        print(f"epoch {epoch}: loss = {loss.item():.5f}")

print("estimated w:", w.detach().flatten().tolist())
print("estimated b:", b.item())
