# line 29: the hand-written descent adds the gradient to the weights and never sets it to zero
import numpy as np
import torch

np.random.seed(0)
torch.manual_seed(0)
x_np = np.random.uniform(-2, 2, size=(500, 1))
y_np = np.sin(2 * x_np) + 0.1 * np.random.randn(500, 1)
x = torch.from_numpy(x_np).float()
y = torch.from_numpy(y_np).float()
x_train, y_train, x_val, y_val = x[:400], y[:400], x[400:], y[400:]

D_in, H, D_out = 1, 40, 1
w1 = torch.randn(D_in, H, requires_grad=True)
b1 = torch.zeros(H, requires_grad=True)
w2 = (torch.randn(H, D_out) / H**0.5).requires_grad_()
b2 = torch.zeros(D_out, requires_grad=True)
weights = [w1, b1, w2, b2]
learning_rate = 0.05


def predict(inputs):
    return torch.tanh(inputs.mm(w1) + b1).mm(w2) + b2


def descend(params, rate):
    with torch.no_grad():
        for w in params:
            w.sub_(rate * w.grad)
            w.grad.zero_()


for epoch in range(40):
    order = torch.randperm(len(x_train))
    epoch_loss = 0.0
    for start in range(0, len(order), 40):
        rows = order[start : start + 40]
        loss = (predict(x_train[rows]) - y_train[rows]).pow(2).mean()
        loss.backward()
        descend(weights, learning_rate)
        epoch_loss += loss.item() * len(rows)
    if epoch % 10 == 0:
        print(epoch, epoch_loss / len(x_train))

with torch.no_grad():
    print("validation", (predict(x_val) - y_val).pow(2).mean().item())
