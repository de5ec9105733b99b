import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset, random_split


class ResidualMLP(nn.Module):
    def __init__(self, dim, hidden, n_classes):
        super().__init__()
        self.inp = nn.Linear(dim, hidden)
        self.block1 = self.make_block(hidden)
        self.block2 = self.make_block(hidden)
        self.out = nn.Linear(hidden, n_classes)

    @staticmethod
    def make_block(hidden):
        return nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden))

    def forward(self, x):
        h = F.relu(self.inp(x))
        h = h + self.block1(h)
        h = h + self.block2(h)
        return self.out(h)


class Trainer:
    def __init__(self, model, lr=0.02, device="cpu"):
        self.model = model.to(device)
        self.device = device
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.scheduler = ReduceLROnPlateau(self.optimizer, mode="max", factor=0.5, patience=1)

    def train(self, loader):
        self.model.train()
        for x, y in loader:
            x, y = x.to(self.device), y.to(self.device)
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def validate(self, loader):
        self.model.eval()
        correct = 0
        with torch.no_grad():
            for x, y in loader:
                pred = self.model(x.to(self.device)).argmax(dim=1).cpu()
                correct += (pred == y).sum().item()
        return correct / len(loader.dataset)

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            loss = self.train(train_loader)
            acc = self.validate(val_loader)
            self.scheduler.step(acc)
            lr = self.optimizer.param_groups[0]["lr"]
            print(f"epoch {epoch:2d} loss {loss:.4f} val_acc {acc:.4f} lr {lr:.5f}")


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(1200, 24)
    y = (x @ torch.randn(24, 5)).argmax(dim=1)
    train_set, val_set = random_split(TensorDataset(x, y), [1000, 200])
    train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=100)
    Trainer(ResidualMLP(24, 48, 5), device=device).fit(train_loader, val_loader, epochs=12)


if __name__ == "__main__":
    main()
