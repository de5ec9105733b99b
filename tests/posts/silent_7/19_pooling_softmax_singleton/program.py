import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

BAG, DIM = 40, 16


class TissueBags(Dataset):
    """A bag of patch features is positive when one of its patches is a tumour patch."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        tumour = 1.5 * torch.randn(DIM, generator=torch.Generator().manual_seed(31))
        self.bags = 1.2 * torch.randn(n, BAG, DIM, generator=g)
        self.labels = (torch.rand(n, generator=g) < 0.5).float()
        self.where = torch.randint(0, BAG, (n,), generator=g)
        for i in range(n):
            if self.labels[i] == 1:
                self.bags[i, self.where[i]] = tumour + 0.5 * torch.randn(DIM, generator=g)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.bags[i], self.labels[i], self.where[i]


class AttentionMIL(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(DIM, hidden), nn.ReLU())
        self.score = nn.Sequential(nn.Linear(hidden, 16), nn.Tanh(), nn.Linear(16, 1))
        self.classifier = nn.Linear(hidden, 1)

    def forward(self, bag):
        h = self.embed(bag)
        scores = self.score(h)
        attention = torch.softmax(scores, dim=-1)
        pooled = (attention * h).sum(dim=1)
        return self.classifier(pooled).squeeze(-1), attention.squeeze(-1)


def evaluate(model, loader):
    model.eval()
    hits = seen = found = positives = 0
    with torch.no_grad():
        for bag, label, where in loader:
            logit, attention = model(bag)
            hits += ((logit > 0).float() == label).sum().item()
            seen += len(label)
            pos = label == 1
            found += (attention.argmax(dim=1) == where)[pos].sum().item()
            positives += pos.sum().item()
    return hits / seen, found / positives


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(TissueBags(600, seed=0), batch_size=20, shuffle=True)
    test_loader = DataLoader(TissueBags(300, seed=1), batch_size=100)
    model = AttentionMIL()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    criterion = nn.BCEWithLogitsLoss()

    for epoch in range(16):
        model.train()
        total = 0.0
        for bag, label, _ in train_loader:
            logit, _ = model(bag)
            loss = criterion(logit, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        acc, found = evaluate(model, test_loader)
        if epoch % 2 == 1:
            print(f"epoch {epoch + 1:2d}  loss {total / len(train_loader):.4f}  bag acc {acc:.3f}  tumour patch on top {found:.3f}")


if __name__ == "__main__":
    main()
