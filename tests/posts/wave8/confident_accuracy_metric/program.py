import torch
import torch.nn as nn
import torch.nn.functional as F
import torchmetrics
from torch.utils.data import DataLoader, TensorDataset

NUM_CLASSES = 3
THRESHOLD = 0.5


class Classifier(nn.Module):
    def __init__(self, in_features=16, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(in_features, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, NUM_CLASSES))

    def forward(self, x):
        return self.net(x)


def make_split(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, NUM_CLASSES, (n,), generator=g)
    centres = torch.eye(NUM_CLASSES, 16)
    return TensorDataset(centres[y] + torch.randn(n, 16, generator=g), y)


def train(model, loader, epochs=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        model.train()
        total = 0.
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        print('epoch %d loss %.4f' % (epoch, total / len(loader.dataset)))


def validate(model, loader):
    """a prediction counts only if its probability is above the threshold"""
    model.eval()
    all_preds, all_targets = [], []
    with torch.no_grad():
        for x, y in loader:
            all_preds.append(model(x).softmax(dim=1))
            all_targets.append(y)
    preds, target = torch.cat(all_preds), torch.cat(all_targets)
    acc = torchmetrics.functional.accuracy(
        preds, target, task='multiclass', threshold=THRESHOLD, num_classes=NUM_CLASSES)
    print('accuracy with threshold %.2f: %.4f' % (THRESHOLD, acc))


if __name__ == '__main__':
    torch.manual_seed(0)
    train_loader = DataLoader(make_split(300, 1), batch_size=30, shuffle=True)
    val_loader = DataLoader(make_split(150, 2), batch_size=50)
    model = Classifier()
    train(model, train_loader)
    validate(model, val_loader)

    # the example by hand: no class is above the threshold
    preds = torch.tensor([[0.3600, 0.3200, 0.3200]])
    target = torch.tensor([0])
    print(torchmetrics.functional.accuracy(
        preds, target, task='multiclass', threshold=THRESHOLD, num_classes=NUM_CLASSES))
