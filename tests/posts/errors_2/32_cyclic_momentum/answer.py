import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons

torch.manual_seed(0)
X, y = make_moons(800, noise=0.2, random_state=0)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(y)
X_train, y_train, X_test, y_test = X[:600], y[:600], X[600:], y[600:]

config = dict(optimizer="adagrad", base_lr=1e-3, max_lr=5e-2, cycle=40, epochs=12)


def make_optimizer(name, params, lr):
    if name == "sgd":
        return torch.optim.SGD(params, lr=lr, momentum=0.9)
    if name == "rmsprop":
        return torch.optim.RMSprop(params, lr=lr)
    if name == "adagrad":
        return torch.optim.Adagrad(params, lr=lr)
    raise KeyError(name)


model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = make_optimizer(config["optimizer"], model.parameters(), config["base_lr"])
scheduler = torch.optim.lr_scheduler.CyclicLR(
    optimizer,
    base_lr=config["base_lr"],
    max_lr=config["max_lr"],
    step_size_up=config["cycle"] // 2,
    cycle_momentum=False,
)

for epoch in range(config["epochs"]):
    for idx in torch.randperm(len(X_train)).split(50):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(X_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        scheduler.step()
    with torch.no_grad():
        acc = (model(X_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch:2d} loss {loss.item():.3f} acc {acc:.3f} lr {scheduler.get_last_lr()[0]:.5f}")
