import torch
import torch.nn as nn
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader, Dataset, random_split

GENRES = ["action", "comedy", "drama", "horror", "romance", "scifi"]
N_TERMS = 200


class PlotDataset(Dataset):
    """Bag-of-words of a film plot and the set of its genres."""

    def __init__(self, n=800):
        g = torch.Generator().manual_seed(0)
        self.bow = torch.rand(n, N_TERMS, generator=g)
        weights = torch.randn(N_TERMS, len(GENRES), generator=g)
        scores = (self.bow - 0.5) @ weights
        self.genres = []
        for row in scores:
            self.genres.append([GENRES[j] for j in range(len(GENRES)) if row[j] > 1.0])

    def __len__(self):
        return len(self.bow)

    def __getitem__(self, i):
        target = torch.zeros(len(GENRES), dtype=torch.float32)
        for name in self.genres[i]:
            target[GENRES.index(name)] = 1
        return self.bow[i], target


def build_model(hidden=64):
    return nn.Sequential(
        nn.Linear(N_TERMS, hidden),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(hidden, len(GENRES)),
    )


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for bow, target in loader:
        optimizer.zero_grad()
        output = model(bow)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        total += loss.item() * bow.size(0)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    preds, targets = [], []
    for bow, target in loader:
        probs = torch.sigmoid(model(bow))
        preds.append(probs > 0.5)
        targets.append(target)
    return f1_score(torch.cat(targets).numpy(), torch.cat(preds).numpy().astype(int), average="micro")


def main():
    torch.manual_seed(0)
    train_set, val_set = random_split(PlotDataset(), [640, 160])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=32)

    model = build_model()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 41):
        loss = train_epoch(model, train_loader, criterion, optimizer)
        if epoch % 10 == 0:
            print(f"epoch {epoch}: loss {loss:.4f}  val micro-F1 {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
