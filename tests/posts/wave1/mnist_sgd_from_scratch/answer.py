import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

# Lesson 5 notebook: what is nn.Linear doing under the hood?
torch.manual_seed(2)
n = 500
x_train = torch.rand(n, 784)
y_train = torch.randint(0, 10, (n,))
train_dl = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)


class Mnist_Logistic(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(784, 10, bias=True)

    def forward(self, xb):
        return self.lin(xb)


def update(model, x, y, lr, wd=1e-5):
    y_hat = model(x)
    w2 = 0.
    for p in model.parameters():
        w2 += (p ** 2).sum()
    loss = F.cross_entropy(y_hat, y) + w2 * wd
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            p.sub_(lr * p.grad)
            p.grad.zero_()
    return loss.item()


model = Mnist_Logistic()
losses = [update(model, x, y, lr=2e-2) for x, y in train_dl]
print('module:', losses[0], '->', losses[-1])

# now the same thing by hand, starting from the parameters of the module
a, b = [p.detach().clone().requires_grad_() for p in model.parameters()]


def update_by_hand(x, y, lr):
    y_hat = x @ a.t() + b
    loss = F.cross_entropy(y_hat, y)
    loss.backward()
    with torch.no_grad():
        for p in (a, b):
            p -= lr * p.grad
            p.grad.zero_()
    return loss.item()


losses = [update_by_hand(x, y, lr=2e-2) for x, y in train_dl]
print('by hand:', losses[0], '->', losses[-1])
