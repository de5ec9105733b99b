import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

STEPS = 24
FEATURES = 6


class MachineRuns(Dataset):
    """Sensor logs of a milling machine. One step of each run carries a spike
    on a marker channel, and the reading at that step tells the kind of wear."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, STEPS, FEATURES, generator=g) * 0.5
        self.y = torch.randint(0, 3, (n,), generator=g)
        where = torch.randint(0, STEPS, (n,), generator=g)
        rows = torch.arange(n)
        self.x[rows, where, 0] = 3.0
        self.x[rows, where, 1:4] = 2.0 * F.one_hot(self.y, 3).float()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class StepEncoder(nn.Module):
    def __init__(self, d_in, d_model):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, d_model), nn.ReLU(), nn.Linear(d_model, d_model))

    def forward(self, x):
        return self.net(x)


class AttentionPool(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(d_model, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, h):
        weights = F.softmax(self.score(h), dim=0)
        return (weights * h).sum(dim=1), weights.squeeze(-1)


class WearClassifier(nn.Module):
    def __init__(self, d_model=32, n_classes=3):
        super().__init__()
        self.encoder = StepEncoder(FEATURES, d_model)
        self.pool = AttentionPool(d_model)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, x):
        pooled, weights = self.pool(self.encoder(x))
        return self.head(pooled), weights


def train(model, loader, epochs=8):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            logits, _ = model(x)
            loss = F.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch}: {total / len(loader.dataset):.4f}")


@torch.no_grad()
def accuracy(model, dataset, batch_size):
    model.eval()
    hits = 0
    for x, y in DataLoader(dataset, batch_size=batch_size):
        logits, _ = model(x)
        hits += (logits.argmax(1) == y).sum().item()
    return hits / len(dataset)


def main():
    torch.manual_seed(12)
    train_set, test_set = MachineRuns(600, 0), MachineRuns(150, 1)
    model = WearClassifier()
    train(model, DataLoader(train_set, batch_size=50, shuffle=True))
    print(f"test accuracy, batches of 50: {accuracy(model, test_set, 50):.3f}")
    print(f"test accuracy, one by one:    {accuracy(model, test_set, 1):.3f}")
    _, weights = model(test_set[0][0].unsqueeze(0))
    print("weights of the first run:", [round(w, 2) for w in weights[0].tolist()])


if __name__ == "__main__":
    main()
