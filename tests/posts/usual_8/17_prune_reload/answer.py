# Iterative magnitude pruning of a keyword classifier, then export for the device
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.utils import prune

WORK = Path(tempfile.mkdtemp(prefix="prune_"))
SPARSITY_PER_ROUND = 0.3
ROUNDS = 3


def build_model():
    return nn.Sequential(
        nn.Conv1d(13, 32, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(32, 64, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(1),
        nn.Flatten(), nn.Linear(64, 6),
    )


def make_mfcc(n, seed):
    proto = np.random.default_rng(0).normal(size=(6, 13, 50))
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, n)
    x = proto[y] + rng.normal(0, 1.0, size=(n, 13, 50))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


x_train, y_train = make_mfcc(600, 1)
x_test, y_test = make_mfcc(200, 2)


def fit(model, epochs, lr=2e-3):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    loss_fn = nn.CrossEntropyLoss()
    model.train()
    for _ in range(epochs):
        for idx in torch.randperm(len(x_train)).split(50):
            opt.zero_grad()
            loss_fn(model(x_train[idx]), y_train[idx]).backward()
            opt.step()


@torch.no_grad()
def evaluate(model):
    model.eval()
    return (model(x_test).argmax(1) == y_test).float().mean().item()


def prunable(model):
    return [(m, "weight") for m in model.modules() if isinstance(m, (nn.Conv1d, nn.Linear))]


def sparsity(model):
    weights = [m.weight for m, _ in prunable(model)]
    return sum((w == 0).sum().item() for w in weights) / sum(w.numel() for w in weights)


def export(model, path):
    for module, name in prunable(model):
        prune.remove(module, name)
    torch.save(model.state_dict(), path)
    return os.path.getsize(path) / 1024


def load_on_device(path):
    model = build_model()
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state)
    return model.eval()


if __name__ == "__main__":
    torch.manual_seed(0)
    net = build_model()
    fit(net, 4)
    print(f"dense: acc {evaluate(net):.3f}")

    for r in range(ROUNDS):
        prune.global_unstructured(prunable(net), pruning_method=prune.L1Unstructured, amount=SPARSITY_PER_ROUND)
        fit(net, 1, lr=5e-4)
        print(f"round {r}: sparsity {sparsity(net):.2f}, acc {evaluate(net):.3f}")

    kb = export(net, WORK / "kws_pruned.pt")
    device_net = load_on_device(WORK / "kws_pruned.pt")
    print(f"exported {kb:.0f} kB, acc on device {evaluate(device_net):.3f}")
