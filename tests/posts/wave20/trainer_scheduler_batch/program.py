import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class DigitsModule(nn.Module):
    def __init__(self, hidden=64, lr=0.05):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(
            nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 10)
        )

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self(x), y)

    def validation_step(self, batch):
        x, y = batch
        return (self(x).argmax(dim=1) == y).float().sum().item()

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)
        scheduler = StepLR(optimizer, step_size=10, gamma=0.1)
        return [optimizer], [scheduler]


class Trainer:
    def __init__(self, max_epochs, log_every=4):
        self.max_epochs = max_epochs
        self.log_every = log_every

    def fit(self, model, train_loader, val_loader):
        self.optimizers, self.lr_schedulers = model.configure_optimizers()
        for epoch in range(self.max_epochs):
            loss = self.run_training_epoch(model, train_loader)
            if (epoch + 1) % self.log_every == 0:
                acc = self.run_validation(model, val_loader)
                lr = self.optimizers[0].param_groups[0]["lr"]
                print(f"epoch {epoch + 1:2d} lr {lr:.2e} loss {loss:.4f} val_acc {acc:.3f}")

    def run_training_epoch(self, model, loader):
        model.train()
        losses = []
        for batch in loader:
            loss = model.training_step(batch)
            for optimizer in self.optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in self.optimizers:
                optimizer.step()
            for lr_scheduler in self.lr_schedulers:
                lr_scheduler.step()
            losses.append(loss.item())
        return float(np.mean(losses))

    @torch.no_grad()
    def run_validation(self, model, loader):
        model.eval()
        return sum(model.validation_step(b) for b in loader) / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16
    y = torch.tensor(digits.target)
    order = torch.randperm(len(y))
    x, y = x[order], y[order]
    train_loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=128)
    Trainer(max_epochs=20).fit(DigitsModule(), train_loader, val_loader)
