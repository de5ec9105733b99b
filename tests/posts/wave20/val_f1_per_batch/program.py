import argparse

import torch
import torch.nn as nn
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader, TensorDataset


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    queries = torch.randn(n, 24, generator=g)
    score = queries[:, :4].sum(dim=1) + 0.8 * torch.randn(n, generator=g)
    labels = (score > 3.0).float()
    return TensorDataset(queries, labels)


class Classifier(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.body(x).squeeze(-1)


class Trainer:
    def __init__(self, model, train_set, val_set, args):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=args.eval_batch_size)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        self.criterion = nn.BCEWithLogitsLoss()

    def train_epoch(self):
        self.model.train()
        for x, y in self.train_loader:
            loss = self.criterion(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        scores, losses = [], []
        for x, y in self.val_loader:
            logits = self.model(x)
            preds = (torch.sigmoid(logits) > 0.5).long()
            scores.append(f1_score(y.long().numpy(), preds.numpy(), zero_division=0))
            losses.append(self.criterion(logits, y).item() * len(y))
        val_f1 = sum(scores) / len(scores)
        return {"val_f1": val_f1, "val_loss": sum(losses) / len(self.val_loader.dataset)}

    def fit(self, epochs):
        best = 0.0
        for epoch in range(epochs):
            self.train_epoch()
            log = self.validate()
            if log["val_f1"] > best:
                best = log["val_f1"]
            print(f"epoch {epoch}: " + ", ".join(f"{k}={v:.4f}" for k, v in log.items()))
        print(f"best val_f1 {best:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--eval_batch_size", type=int, default=20)
    args = parser.parse_args()
    torch.manual_seed(7)
    trainer = Trainer(Classifier(24, 64), make_data(3000, 0), make_data(1900, 1), args)
    trainer.fit(args.epochs)
