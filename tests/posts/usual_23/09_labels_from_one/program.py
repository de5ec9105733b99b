import torch
import torch.nn as nn
import torchvision
from torch.utils.data import DataLoader, Dataset

NUM_CLASSES = 10
BATCH_SIZE = 32


class SVHNLike(Dataset):
    """House number crops with the labels of the .mat files."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(0, 256, (n, 3, 32, 32), generator=g, dtype=torch.uint8)
        self.y = torch.arange(n) % NUM_CLASSES + 1

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, i):
        img = self.x[i].float() / 255.0
        return (img - 0.5) / 0.5, self.y[i]


def accuracy(model, loader, device):
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            hits += (model(x).argmax(1) == y).sum().item()
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(7)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_loader = DataLoader(SVHNLike(256, seed=0), batch_size=BATCH_SIZE, shuffle=True)
    test_loader = DataLoader(SVHNLike(64, seed=1), batch_size=BATCH_SIZE)

    model = torchvision.models.mobilenet_v3_small(weights=None, num_classes=NUM_CLASSES)
    model.to(device)

    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

    for epoch in range(2):
        model.train()
        running = 0.0
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item() * x.size(0)
        scheduler.step()
        print(f"[{epoch}] loss={running / len(train_loader.dataset):.3f} "
              f"acc={accuracy(model, test_loader, device):.3f}")


if __name__ == "__main__":
    main()
