import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Engine:
    def __init__(self, process):
        self.process = process
        self.metrics = {}

    def attach(self, name, metric):
        self.metrics[name] = metric

    def run(self, data, max_epochs=1):
        for epoch in range(1, max_epochs + 1):
            for m in self.metrics.values():
                m.reset()
            for batch in data:
                output = self.process(self, batch)
                for m in self.metrics.values():
                    m.update(output)
        return {k: m.compute() for k, m in self.metrics.items()}


class Accuracy:
    def reset(self):
        self.correct, self.count = 0, 0

    def _check_shape(self, output):
        y_pred, y = output
        if not (y.ndimension() == y_pred.ndimension() or y.ndimension() + 1 == y_pred.ndimension()):
            raise ValueError("y must have shape (N, ...) and y_pred (N, C, ...), got %s and %s" % (y.shape, y_pred.shape))

    def update(self, output):
        self._check_shape(output)
        y_pred, y = output
        self.correct += (y_pred.argmax(dim=1) == y).sum().item()
        self.count += y.numel()

    def compute(self):
        return self.correct / max(self.count, 1)


class MeanLoss:
    def __init__(self, fn):
        self.fn = fn

    def reset(self):
        self.total, self.n = 0.0, 0

    def update(self, output):
        y_pred, y = output
        self.total += self.fn(y_pred, y).item() * len(y)
        self.n += len(y)

    def compute(self):
        return self.total / max(self.n, 1)


class CrowdNet(nn.Module):
    """density level classifier, gives the attention map too for plotting"""

    def __init__(self, levels=4):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU())
        self.attend = nn.Conv2d(32, 1, 1)
        self.fc = nn.Linear(32, levels)

    def forward(self, x):
        h = self.body(x)
        att = torch.sigmoid(self.attend(h))
        pooled = (h * att).sum((2, 3)) / att.sum((2, 3))
        return self.fc(pooled), att


def make_loader(n, seed, shuffle=False):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.randn(n, 3, 32, 32, generator=g) + y.view(-1, 1, 1, 1).float() * 0.5
    return DataLoader(TensorDataset(x, y), batch_size=16, shuffle=shuffle)


torch.manual_seed(0)
model = CrowdNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def train_step(engine, batch):
    model.train()
    x, y = batch
    y_pred, att = model(x)
    loss = F.cross_entropy(y_pred, y) + 1e-3 * att.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return y_pred.detach(), y


def validation_step(engine, batch):
    model.eval()
    with torch.no_grad():
        x, y = batch
        y_pred, _ = model(x)
        return y_pred, y


trainer = Engine(train_step)
trainer.attach("accuracy", Accuracy())
evaluator = Engine(validation_step)
evaluator.attach("accuracy", Accuracy())
evaluator.attach("loss", MeanLoss(F.cross_entropy))

train_loader, val_loader = make_loader(160, 0, True), make_loader(48, 1)
for epoch in range(3):
    print("train", trainer.run(train_loader))
    print("val  ", evaluator.run(val_loader))
