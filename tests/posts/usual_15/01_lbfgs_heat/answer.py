# Homework 4: compare optimisers on a small curve fit (cooling of a cup of coffee)
import math
import torch
import torch.nn as nn
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt

torch.manual_seed(0)

# measured temperatures, one every 30 seconds
t = torch.linspace(0, 40, 81).unsqueeze(1)
temp = 21.0 + 63.0 * torch.exp(-t / 14.0) + 0.6 * torch.randn_like(t)

t_n = (t - t.mean()) / t.std()
temp_n = (temp - temp.mean()) / temp.std()

idx = torch.randperm(len(t))
train_idx, test_idx = idx[:64], idx[64:]


class CoolingNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x)


def make_optimizer(name, params):
    if name == "sgd":
        return torch.optim.SGD(params, lr=0.05, momentum=0.9)
    if name == "adam":
        return torch.optim.Adam(params, lr=0.01)
    if name == "lbfgs":
        return torch.optim.LBFGS(params, lr=0.5, max_iter=10)
    raise ValueError(name)


def train(name, epochs=150):
    torch.manual_seed(1)
    model = CoolingNet()
    criterion = nn.MSELoss()
    optimizer = make_optimizer(name, model.parameters())
    history = []
    x, y = t_n[train_idx], temp_n[train_idx]
    for epoch in range(epochs):
        def closure():
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        history.append(loss.item())
    return model, history


curves = {}
for name in ["sgd", "adam", "lbfgs"]:
    model, history = train(name)
    curves[name] = history
    model.eval()
    with torch.no_grad():
        pred = model(t_n[test_idx]) * temp.std() + temp.mean()
        rmse = math.sqrt(((pred - temp[test_idx]) ** 2).mean().item())
    print(f"{name:6s} final train loss {history[-1]:.5f}   test RMSE {rmse:.2f} degrees")

for name, history in curves.items():
    plt.semilogy(history, label=name)
plt.xlabel("epoch")
plt.ylabel("training loss")
plt.legend()
plt.savefig("/tmp/cooling_optimizers.png")
