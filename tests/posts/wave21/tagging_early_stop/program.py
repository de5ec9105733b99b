import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import average_precision_score
from torch.utils.data import DataLoader, Dataset


class Spectrograms(Dataset):
    """Mel spectrograms with several tags each: every tag is a tone at its own pitch."""

    def __init__(self, n, n_mels=32, frames=48, n_tags=8, noise=1.2, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.tags = (torch.rand(n, n_tags, generator=g) < 0.25).float()
        self.specs = noise * torch.randn(n, 1, n_mels, frames, generator=g)
        for i in range(n):
            for tag in torch.nonzero(self.tags[i]).flatten().tolist():
                start = int(torch.randint(0, frames - 16, (1,), generator=g))
                self.specs[i, 0, tag * 4 + 1, start:start + 16] += 1.5

    def __len__(self):
        return len(self.specs)

    def __getitem__(self, i):
        return self.specs[i], self.tags[i]


class TaggingCNN(nn.Module):
    def __init__(self, n_tags=8):
        super().__init__()
        self.layers = nn.Sequential(
            nn.BatchNorm2d(1),
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d((2, 4)),
            nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d((2, 4)),
            nn.Flatten(), nn.Dropout(0.5), nn.Linear(16 * 8 * 3, n_tags))

    def forward(self, x):
        return self.layers(x)


class Trainer:
    def __init__(self, model, args):
        self.model = model
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimizer, mode="min", factor=0.1, patience=args.lr_patience)
        self.max_epochs = args.epochs
        self.patience = args.patience

    def train_epoch(self, loader):
        self.model.train()
        losses = []
        for x, y in loader:
            loss = self.criterion(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return np.mean(losses)

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        logits, tags = zip(*[(self.model(x), y) for x, y in loader])
        logits, tags = torch.cat(logits), torch.cat(tags)
        pr_auc = average_precision_score(tags.numpy(), logits.numpy(), average="macro")
        return self.criterion(logits, tags).item(), pr_auc

    def fit(self, train_loader, val_loader):
        best_val_loss = float("inf")
        best_weights = None
        k_patience = 0
        for epoch in range(1, self.max_epochs + 1):
            train_loss = self.train_epoch(train_loader)
            val_loss, pr_auc = self.validate(val_loader)
            self.scheduler.step(val_loss)
            lr = self.optimizer.param_groups[0]["lr"]
            print("epoch %2d  lr %.0e  train %.4f  val %.4f  pr-auc %.3f" % (epoch, lr, train_loss, val_loss, pr_auc))

            is_val_improving = val_loss < best_val_loss
            if is_val_improving:
                best_val_loss = val_loss
                best_weights = {k: v.clone() for k, v in self.model.state_dict().items()}
            else:
                k_patience += 1

            if k_patience >= self.patience:
                print("no improvement for %d epochs, stopping" % self.patience)
                break
        self.model.load_state_dict(best_weights)
        return best_val_loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--patience", type=int, default=6)
    parser.add_argument("--lr-patience", type=int, default=3)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(Spectrograms(320, seed=1), batch_size=32, shuffle=True)
    val_loader = DataLoader(Spectrograms(96, seed=2), batch_size=32)
    trainer = Trainer(TaggingCNN(), args)
    best = trainer.fit(train_loader, val_loader)
    print("best validation loss %.4f" % best)


if __name__ == "__main__":
    main()
