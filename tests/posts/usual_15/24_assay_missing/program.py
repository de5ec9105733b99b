"""Multi-task toxicity model on fingerprints; most compounds were tested in a few assays only."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
from sklearn.metrics import roc_auc_score

ASSAYS = ["AR", "AhR", "ER", "ARE", "MMP", "p53"]
BITS = 128


def make_table(n, seed):
    rng = np.random.default_rng(seed)
    w = np.random.default_rng(123).normal(size=(BITS, len(ASSAYS)))
    fp = (rng.random((n, BITS)) < 0.15).astype(np.float32)
    score = fp @ w
    active = (score > np.quantile(score, 0.7, axis=0)).astype(np.float32)
    # actives are followed up in more assays than inactives
    scale = np.array([0.25, 0.4, 0.55, 0.7, 0.8, 0.9])
    tested = rng.random(active.shape) < scale * np.where(active == 1, 1.0, 0.7)
    labels = np.where(tested, active, np.nan)
    return fp, labels


class AssayDataset(Dataset):
    def __init__(self, fp, labels):
        self.fp = torch.from_numpy(fp)
        self.labels = torch.from_numpy(np.nan_to_num(labels)).float()

    def __len__(self):
        return len(self.fp)

    def __getitem__(self, i):
        return self.fp[i], self.labels[i]


class ToxNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(BITS, 128), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.2),
        )
        self.heads = nn.Linear(64, len(ASSAYS))

    def forward(self, x):
        return self.heads(self.body(x))


def train(model, loader, epochs):
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}  loss {total / len(loader):.4f}")


@torch.no_grad()
def report(model, fp, labels):
    model.eval()
    prob = torch.sigmoid(model(torch.from_numpy(fp))).numpy()
    for k, name in enumerate(ASSAYS):
        known = ~np.isnan(labels[:, k])
        auc = roc_auc_score(labels[known, k], prob[known, k])
        print(f"{name:4s} tested {known.sum():4d}  AUC {auc:.3f}  actives {labels[known, k].mean():.2f}"
              f"  mean predicted {prob[known, k].mean():.2f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    fp_train, y_train = make_table(2400, 0)
    fp_test, y_test = make_table(800, 1)
    train_loader = DataLoader(AssayDataset(fp_train, y_train), batch_size=64, shuffle=True)
    model = ToxNet()
    train(model, train_loader, epochs=8)
    report(model, fp_test, y_test)
