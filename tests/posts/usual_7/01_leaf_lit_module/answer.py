"""Small Lightning-like loop, so that the modules can be moved to pytorch_lightning later without changes."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class LitBase(nn.Module):
    def __init__(self):
        super().__init__()
        self.logged = {}

    def log(self, name, value):
        self.logged.setdefault(name, []).append(float(value.detach()))


class LitLeafClassifier(LitBase):
    def __init__(self, n_classes=7, hidden=64, lr=2e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(
            nn.Linear(24, hidden), nn.BatchNorm1d(hidden), nn.GELU(),
            nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.GELU(),
            nn.Linear(hidden, n_classes),
        )

    def forward(self, x):
        return self.net(x)

    def _shared_step(self, batch):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        acc = (logits.argmax(dim=1) == y).float().mean()
        return loss, acc

    def training_step(self, batch, batch_idx):
        loss, acc = self._shared_step(batch)
        self.log("train_loss", loss)
        self.log("train_acc", acc)
        return loss

    def validation_step(self, batch, batch_idx):
        loss, acc = self._shared_step(batch)
        return {"val_loss": loss, "val_acc": acc}

    def validation_epoch_end(self, outputs):
        avg_loss = torch.stack([o["val_loss"] for o in outputs]).mean()
        avg_acc = torch.stack([o["val_acc"] for o in outputs]).mean()
        self.log("val_loss", avg_loss)
        self.log("val_acc", avg_acc)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr, weight_decay=1e-2)


class MiniTrainer:
    def __init__(self, max_epochs=5):
        self.max_epochs = max_epochs

    def fit(self, module, train_dl, val_dl):
        opt = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            module.logged.clear()
            module.train()
            for i, batch in enumerate(train_dl):
                opt.zero_grad()
                loss = module.training_step(batch, i)
                loss.backward()
                opt.step()
            self.validate(module, val_dl)
            msg = "  ".join(f"{k}={sum(v) / len(v):.3f}" for k, v in module.logged.items())
            print(f"[{epoch}] {msg}")

    @torch.no_grad()
    def validate(self, module, val_dl):
        module.eval()
        outs = [module.validation_step(batch, i) for i, batch in enumerate(val_dl)]
        module.validation_epoch_end(outs)


def make_leaves(n=840, n_classes=7):
    y = torch.arange(n) % n_classes
    proto = torch.randn(n_classes, 24)
    return TensorDataset(proto[y] + 0.8 * torch.randn(n, 24), y)


if __name__ == "__main__":
    torch.manual_seed(11)
    train_set, val_set = random_split(make_leaves(), [700, 140])
    train_dl = DataLoader(train_set, batch_size=50, shuffle=True)
    val_dl = DataLoader(val_set, batch_size=70)
    MiniTrainer(max_epochs=4).fit(LitLeafClassifier(), train_dl, val_dl)
