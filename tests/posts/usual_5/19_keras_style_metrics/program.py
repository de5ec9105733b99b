import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Accuracy:
    name = "acc"

    def __init__(self):
        self.reset()

    def reset(self):
        self.hits = 0
        self.seen = 0

    def update(self, logits, target):
        predicted = logits.detach().argmax(0)
        self.hits += int(predicted.eq(target).sum())
        self.seen += target.numel()

    def result(self):
        return self.hits / self.seen


class Mean:
    def __init__(self, name):
        self.name = name
        self.reset()

    def reset(self):
        self.total, self.n = 0.0, 0

    def update(self, value, n):
        self.total += value * n
        self.n += n

    def result(self):
        return self.total / self.n


class Model:
    """compile / fit / evaluate, as I was used to"""

    def __init__(self, net):
        self.net = net

    def compile(self, optimizer, loss, metrics):
        self.optimizer, self.loss, self.metrics = optimizer, loss, metrics

    def _run(self, loader, training):
        self.net.train(training)
        mean_loss = Mean("loss")
        for m in self.metrics:
            m.reset()
        with torch.set_grad_enabled(training):
            for x, y in loader:
                logits = self.net(x)
                loss = self.loss(logits, y)
                if training:
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                mean_loss.update(loss.item(), len(y))
                for m in self.metrics:
                    m.update(logits, y)
        return {m.name: m.result() for m in [mean_loss, *self.metrics]}

    def fit(self, train, epochs, validation_data=None):
        for epoch in range(epochs):
            start = time.time()
            logs = self._run(train, True)
            if validation_data is not None:
                logs.update({"val_" + k: v for k, v in self._run(validation_data, False).items()})
            line = " - ".join(f"{k}: {v:.4f}" for k, v in logs.items())
            print(f"Epoch {epoch + 1}/{epochs} - {time.time() - start:.1f}s - {line}")


def gesture_data(n, n_classes=6, n_features=30, seed=0):
    rng = np.random.default_rng(seed)
    prototypes = np.random.default_rng(99).normal(size=(n_classes, n_features))
    y = rng.integers(0, n_classes, n)
    x = prototypes[y] + rng.normal(scale=1.5, size=(n, n_features))
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


torch.manual_seed(0)
train_dl = DataLoader(gesture_data(800, seed=0), batch_size=32, shuffle=True)
val_dl = DataLoader(gesture_data(200, seed=1), batch_size=32)

net = nn.Sequential(
    nn.Linear(30, 64),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(64, 6),
)
model = Model(net)
model.compile(
    optimizer=torch.optim.Adam(net.parameters(), lr=1e-3),
    loss=nn.CrossEntropyLoss(),
    metrics=[Accuracy()],
)
model.fit(train_dl, epochs=5, validation_data=val_dl)
