import copy
import os
import tempfile

import torch
import torch.nn as nn
from sklearn.datasets import make_moons
from torch.utils.data import DataLoader, TensorDataset


class EMAHook:
    def __init__(self, model, momentum=0.02):
        self.momentum = momentum
        self.ema_model = copy.deepcopy(model)
        for p in self.ema_model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def after_train_iter(self, model):
        for e, p in zip(self.ema_model.parameters(), model.parameters()):
            e.lerp_(p, self.momentum)

    @torch.no_grad()
    def swap(self, model):
        for e, p in zip(self.ema_model.parameters(), model.parameters()):
            tmp = p.data.clone()
            p.data.copy_(e.data)
            e.data.copy_(tmp)

    def before_val_epoch(self, model):
        self.swap(model)

    def after_val_epoch(self, model):
        self.swap(model)


class Runner:
    def __init__(self, model, train_loader, val_data, lr, work_dir):
        self.model, self.train_loader, self.val_data = model, train_loader, val_data
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()
        self.ema = EMAHook(model)
        self.path = os.path.join(work_dir, "best.pth")
        self.best, self.best_ckpt = 0.0, None

    def accuracy(self):
        x, y = self.val_data
        self.model.eval()
        with torch.no_grad():
            return (self.model(x).argmax(1) == y).float().mean().item()

    def train_epoch(self):
        self.model.train()
        for x, y in self.train_loader:
            loss = self.criterion(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.ema.after_train_iter(self.model)

    def val_epoch(self, epoch):
        self.ema.before_val_epoch(self.model)
        acc = self.accuracy()
        if acc > self.best:
            self.best = acc
            self.best_ckpt = {"epoch": epoch, "state_dict": copy.deepcopy(self.model.state_dict()), "acc": acc}
        self.ema.after_val_epoch(self.model)
        return acc

    def run(self, epochs):
        for epoch in range(epochs):
            self.train_epoch()
            acc = self.val_epoch(epoch)
            if (epoch + 1) % 5 == 0:
                print(f"epoch {epoch + 1} ema acc {acc:.4f}")
        torch.save(self.best_ckpt, self.path)


def main():
    torch.manual_seed(0)
    x, y = make_moons(1200, noise=0.3, random_state=0)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    loader = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
    with tempfile.TemporaryDirectory() as work_dir:
        runner = Runner(model, loader, (x[800:], y[800:]), lr=0.5, work_dir=work_dir)
        runner.run(20)
        ckpt = torch.load(runner.path)
        model.load_state_dict(ckpt["state_dict"])
        print(f"best epoch {ckpt['epoch'] + 1} acc {ckpt['acc']:.4f}, after loading {runner.accuracy():.4f}")


if __name__ == "__main__":
    main()
