import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ModelEMA:
    def __init__(self, model, decay=0.995):
        self.module = copy.deepcopy(model).eval()
        for p in self.module.parameters():
            p.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for shadow, p in zip(self.module.parameters(), model.parameters()):
            shadow.mul_(1.0 - self.decay).add_(p, alpha=self.decay)
        for shadow, b in zip(self.module.buffers(), model.buffers()):
            shadow.copy_(b)


class Classifier(nn.Module):
    def __init__(self, n_in=20, n_out=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, n_out)
        )

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    hits = 0
    for x, y in loader:
        hits += (model(x.to(device)).argmax(1) == y.to(device)).sum().item()
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(3)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(1000, 20)
    y = (x @ torch.randn(20, 4) + torch.randn(1000, 4)).argmax(1)
    train_loader = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=20, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=100)

    model = Classifier().to(device)
    ema = ModelEMA(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        model.train()
        for xb, yb in train_loader:
            loss = criterion(model(xb.to(device)), yb.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update(model)
        acc = evaluate(model, test_loader, device)
        acc_ema = evaluate(ema.module, test_loader, device)
        print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.3f} ema {acc_ema:.3f}")


if __name__ == "__main__":
    main()
