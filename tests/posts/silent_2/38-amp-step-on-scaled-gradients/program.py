import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    def __init__(self, n):
        self.x = torch.randn(n, 1, 16, 16)
        self.y = (self.x.mean(dim=(1, 2, 3)) > 0).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class PatchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 16, 2)

    def forward(self, x):
        x = nn.functional.avg_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.avg_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def evaluate(model, loader, device):
    model.eval()
    hits = 0
    with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16):
        for x, y in loader:
            hits += (model(x.to(device)).argmax(1) == y.to(device)).sum().item()
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(Patches(512), batch_size=32, shuffle=True)
    val_loader = DataLoader(Patches(128), batch_size=64)
    model = PatchNet().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = torch.amp.GradScaler(device.type)

    for epoch in range(4):
        model.train()
        total = 0.0
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, dtype=torch.bfloat16):
                loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            optimizer.step()
            total += loss.item()
        acc = evaluate(model, val_loader, device)
        print(f"epoch {epoch} loss {total / len(train_loader):.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
