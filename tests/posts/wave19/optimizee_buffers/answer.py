"""Compare hand made optimisers on a small classifier whose weights can be
replaced from outside, as the learned optimiser needs it."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class MetaModule(nn.Module):
    """Modules whose weights are tensors that can be set to updated values."""

    def named_leaves(self):
        return []

    def all_named_parameters(self, prefix=""):
        for name, value in self.named_leaves():
            yield prefix + name, value
        for name, child in self.named_children():
            if isinstance(child, MetaModule):
                yield from child.all_named_parameters(prefix + name + ".")

    def set_param(self, name, value):
        head, _, tail = name.partition(".")
        if tail:
            getattr(self, head).set_param(tail, value)
        else:
            setattr(self, head, value)


class MetaLinear(MetaModule):
    def __init__(self, in_features, out_features):
        super().__init__()
        init = nn.Linear(in_features, out_features)
        self.register_buffer("weight", init.weight.detach().clone().requires_grad_())
        self.register_buffer("bias", init.bias.detach().clone().requires_grad_())

    def named_leaves(self):
        return [("weight", self.weight), ("bias", self.bias)]

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


class DigitsNet(MetaModule):
    def __init__(self, hidden=20):
        super().__init__()
        self.fc1 = MetaLinear(64, hidden)
        self.fc2 = MetaLinear(hidden, 10)

    def forward(self, x):
        return self.fc2(torch.sigmoid(self.fc1(x)))


class DigitsLoss:
    def __init__(self, batch_size=64):
        digits = load_digits()
        x = torch.tensor(digits.data / 16.0, dtype=torch.float32)
        y = torch.tensor(digits.target, dtype=torch.long)
        self.loader = DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True, drop_last=True)
        self.batches = iter(self.loader)

    def sample(self):
        try:
            return next(self.batches)
        except StopIteration:
            self.batches = iter(self.loader)
            return next(self.batches)


def fit_normal(data, target_cls, opt_class, n_tests=3, n_steps=100, **kwargs):
    results = []
    for _ in range(n_tests):
        optimizee = target_cls()
        optimizer = opt_class([p for _, p in optimizee.all_named_parameters()], **kwargs)
        curve = []
        for _ in range(n_steps):
            x, y = data.sample()
            loss = F.cross_entropy(optimizee(x), y)
            curve.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        results.append(curve)
    return np.array(results)


NORMAL_OPTS = [
    ("adam", optim.Adam, {"lr": 0.03}),
    ("rmsprop", optim.RMSprop, {"lr": 0.01}),
    ("sgd", optim.SGD, {"lr": 1.0}),
    ("nag", optim.SGD, {"lr": 0.5, "nesterov": True, "momentum": 0.9}),
]


def main():
    torch.manual_seed(0)
    data = DigitsLoss()
    for name, opt_class, kwargs in NORMAL_OPTS:
        curves = fit_normal(data, DigitsNet, opt_class, **kwargs)
        print(f"{name:8s} first {curves[:, 0].mean():.3f} last {curves[:, -10:].mean():.3f}")


if __name__ == "__main__":
    main()
