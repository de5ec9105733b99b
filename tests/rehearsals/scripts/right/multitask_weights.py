from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


@dataclass
class TrainerConfig:
    max_epochs: int = 5
    batch_size: int = 32
    lr: float = 4e-3
    betas: tuple = (0.9, 0.95)
    weight_decay: float = 0.01
    callbacks: dict = field(default_factory=dict)


class Patients(Dataset):
    """Risk class for all, blood pressure for about two of three."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 12, generator=g)
        score = self.x[:, 0] + self.x[:, 1] * self.x[:, 2]
        self.risk = (score > 1.2).long()
        self.pressure = 0.7 * self.x[:, 3] - 0.4 * self.x[:, 0] + 0.2 * torch.randn(n, generator=g)
        self.pressure[torch.rand(n, generator=g) < 0.33] = float("nan")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "risk": self.risk[i], "pressure": self.pressure[i]}


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.risk = nn.Linear(48, 2)
        self.pressure = nn.Linear(48, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.risk(h), self.pressure(h).squeeze(-1)


class UncertaintyLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, out, batch):
        logits, pressure = out
        ce = F.cross_entropy(logits, batch["risk"])
        known = ~torch.isnan(batch["pressure"])
        mse = F.mse_loss(pressure[known], batch["pressure"][known]) if known.any() else pressure.sum() * 0
        parts = torch.stack([ce, mse])
        counts = torch.tensor([len(known), int(known.sum())])
        return (parts * torch.exp(-self.log_vars) + self.log_vars).sum(), parts.detach(), counts


class Trainer:
    def __init__(self, config, model, train_set, test_set):
        self.config, self.model, self.criterion = config, model, UncertaintyLoss()
        weight = 1.0 / torch.bincount(train_set.risk).float()
        sampler = WeightedRandomSampler(weight[train_set.risk], len(train_set))
        self.train_loader = DataLoader(train_set, config.batch_size, sampler=sampler)
        self.test_loader = DataLoader(test_set, config.batch_size)
        decay = [p for p in model.parameters() if p.dim() > 1]
        rest = [p for p in model.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.AdamW([
            {"params": decay, "weight_decay": config.weight_decay},
            {"params": rest + list(self.criterion.parameters()), "weight_decay": 0.0},
        ], lr=config.lr, betas=config.betas)

    def run(self, split):
        training = split == "train"
        self.model.train(training)
        sums, counts = torch.zeros(2), torch.zeros(2)
        confusion = torch.zeros(2, 2, dtype=torch.long)
        for batch in self.train_loader if training else self.test_loader:
            with torch.set_grad_enabled(training):
                out = self.model(batch["x"])
                loss, parts, n = self.criterion(out, batch)
            if training:
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                self.optimizer.step()
            sums += parts * n
            counts += n
            ones = torch.ones_like(batch["risk"])
            confusion.index_put_((batch["risk"], out[0].argmax(1)), ones, accumulate=True)
        recall = confusion.diag() / confusion.sum(1).clamp(min=1)
        return (sums / counts.clamp(min=1)).tolist(), recall.tolist()

    def fit(self):
        for epoch in range(self.config.max_epochs):
            for split in ("train", "test"):
                (ce, mse), recall = self.run(split)
                print(f"{epoch} {split:5s} ce {ce:.4f} mse {mse:.4f} recall {recall[0]:.2f}/{recall[1]:.2f}")
            for callback in self.config.callbacks.values():
                callback(self, epoch)


def show_weights(trainer, epoch):
    print("   weights", [round(v, 3) for v in torch.exp(-trainer.criterion.log_vars).tolist()])


if __name__ == "__main__":
    torch.manual_seed(0)
    config = TrainerConfig(callbacks={"weights": show_weights})
    Trainer(config, TwoHeads(), Patients(410, 0), Patients(115, 1)).fit()
