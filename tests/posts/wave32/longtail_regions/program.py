import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

NUM_CLASSES = 20
IMB_FACTOR = 0.02


def img_num_per_cls(max_num):
    return [int(max_num * IMB_FACTOR ** (c / (NUM_CLASSES - 1.0))) for c in range(NUM_CLASSES)]


def build(counts, centers):
    y = torch.cat([torch.full((n,), c) for c, n in enumerate(counts)])
    return TensorDataset(centers[y] + 1.5 * torch.randn(len(y), centers.size(1)), y)


class Expert(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, NUM_CLASSES))

    def forward(self, x):
        return self.net(x)


class MultiExpert(nn.Module):
    def __init__(self, dim, num_experts=3):
        super().__init__()
        self.experts = nn.ModuleList(Expert(dim) for _ in range(num_experts))

    def forward(self, x):
        return torch.stack([e(x) for e in self.experts], dim=1)


class RegionMetric:
    """Accuracy over the many, medium and few shot classes."""

    def __init__(self, counts, many=100, few=20):
        counts = torch.tensor(counts)
        self.region = torch.ones(NUM_CLASSES, dtype=torch.long)
        self.region[counts > many] = 0
        self.region[counts < few] = 2

    def __call__(self, output, target):
        pred = output.argmax(dim=1)
        correct = pred == target
        region = self.region[pred]
        result = []
        for r in range(3):
            hits = (correct & (region == r)).sum().item()
            total = (region == r).sum().item()
            result.append(hits / max(total, 1))
        return correct.float().mean().item(), result


class Trainer:
    def __init__(self, model, counts, train_loader, test_loader, epochs=15):
        self.model = model
        self.prior = torch.tensor(counts, dtype=torch.float).log()
        self.train_loader, self.test_loader = train_loader, test_loader
        self.metric = RegionMetric(counts)
        self.epochs = epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            logits = self.model(x)
            loss = sum(F.cross_entropy(logits[:, k], y) for k in range(logits.size(1)))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def test(self):
        self.model.eval()
        outputs, targets = [], []
        for x, y in self.test_loader:
            outputs.append(self.model(x).mean(dim=1))
            targets.append(y)
        return self.metric(torch.cat(outputs), torch.cat(targets))

    def run(self):
        for epoch in range(self.epochs):
            loss = self.train_epoch()
            if (epoch + 1) % 5 == 0:
                acc, (many, med, few) = self.test()
                print(f"epoch {epoch + 1} loss {loss:.3f} acc {acc:.3f} many {many:.3f} med {med:.3f} few {few:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    np.random.seed(0)
    counts = img_num_per_cls(250)
    centers = torch.randn(NUM_CLASSES, 16)
    train_loader = DataLoader(build(counts, centers), batch_size=64, shuffle=True)
    test_loader = DataLoader(build([50] * NUM_CLASSES, centers), batch_size=100)
    Trainer(MultiExpert(16), counts, train_loader, test_loader).run()
