import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.nn.utils import prune

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32) / 16
y = torch.tensor(y)
x_train, x_test, y_train, y_test = X[:1400], X[1400:], y[:1400], y[1400:]

model = nn.Sequential(
    nn.Linear(64, 128),
    nn.ReLU(),
    nn.Linear(128, 64),
    nn.ReLU(),
    nn.Linear(64, 10),
)


def fit(net, epochs, lr):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    for _ in range(epochs):
        for idx in torch.randperm(len(x_train)).split(128):
            opt.zero_grad()
            F.cross_entropy(net(x_train[idx]), y_train[idx]).backward()
            opt.step()


@torch.no_grad()
def accuracy(net):
    return (net(x_test).argmax(1) == y_test).float().mean().item()


fit(model, 8, 1e-3)
print(f"dense accuracy {accuracy(model):.3f}")

to_prune = [(m, "weight") for m in model if isinstance(m, nn.Linear)][:-1]
prune.global_unstructured(to_prune, pruning_method=prune.L1Unstructured, amount=0.7)
fit(model, 4, 5e-4)
print(f"pruned accuracy {accuracy(model):.3f}")

for module in model.modules():
    if isinstance(module, nn.Linear):
        prune.remove(module, "weight")

zeros = sum((m.weight == 0).sum().item() for m in model if isinstance(m, nn.Linear))
total = sum(m.weight.numel() for m in model if isinstance(m, nn.Linear))
print(f"sparsity {zeros / total:.2f}")
torch.save(model.state_dict(), "pruned.pt")
