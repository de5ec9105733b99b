# line 35: only the scheduler steps after the backward pass, the optimizer never does
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Module(nn.Module):
    def __init__(self, bands=16):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * bands, 1))

    def forward(self, spectrum):
        return self.net(spectrum).squeeze(-1)


class Trainer:
    def __init__(self, model, config):
        self.model, self.config = model, config
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=config["lr"], total_steps=config["epochs"] * config["steps"]
        )

    def backward_pass(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config["clip"])

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for spectrum, grade in loader:
            loss = nn.functional.mse_loss(self.model(spectrum), grade)
            self.backward_pass(loss)
            self.scheduler.step()
            total += loss.item() * len(grade)
        return total / len(loader.dataset)

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        squares = sum((self.model(x) - y).square().sum().item() for x, y in loader)
        return squares / len(loader.dataset)


def minerals(n):
    grade = torch.rand(n)
    bands = torch.arange(16.0)
    spectrum = 1 - grade[:, None] * torch.exp(-((bands - 7) ** 2) / 6) + 0.05 * torch.randn(n, 16)
    return TensorDataset(spectrum.unsqueeze(1), grade)


torch.manual_seed(0)
train_loader = DataLoader(minerals(400), batch_size=40, shuffle=True)
test_loader = DataLoader(minerals(100), batch_size=50)
config = {"lr": 5e-3, "epochs": 6, "clip": 1.0, "steps": len(train_loader)}
trainer = Trainer(Module(), config)
for epoch in range(config["epochs"]):
    print(epoch, trainer.train_epoch(train_loader), trainer.evaluate(test_loader))
