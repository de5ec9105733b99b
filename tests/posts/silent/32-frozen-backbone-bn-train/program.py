import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU())
        self.stage3 = nn.Sequential(nn.Conv2d(32, 48, 3, 2, 1), nn.BatchNorm2d(48), nn.ReLU())
        self.out_features = 48

    def forward(self, x):
        return self.stage3(self.stage2(self.stage1(x))).mean((2, 3))


class TransferModel(nn.Module):
    def __init__(self, backbone, num_classes):
        super().__init__()
        self.backbone = backbone
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.head = nn.Sequential(nn.Linear(backbone.out_features, 32), nn.ReLU(), nn.Dropout(0.3),
                                  nn.Linear(32, num_classes))

    def forward(self, x):
        return self.head(self.backbone(x))


def run_epoch(model, loader, criterion, optimizer=None):
    if optimizer is not None:
        model.train()
    else:
        model.eval()
    total = correct = 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            logits = model(x)
            if optimizer is not None:
                loss = criterion(logits, y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            correct += (logits.argmax(1) == y).sum().item()
            total += len(y)
    return correct / total


torch.manual_seed(0)

# source task
backbone = Backbone()
source_model = nn.Sequential(backbone, nn.Linear(backbone.out_features, 5))
source_opt = torch.optim.Adam(source_model.parameters(), lr=3e-3)
for _ in range(80):
    ys = torch.randint(0, 5, (32,))
    xs = torch.randn(32, 3, 24, 24) + 0.5 * ys.view(-1, 1, 1, 1)
    source_opt.zero_grad()
    nn.functional.cross_entropy(source_model(xs), ys).backward()
    source_opt.step()

# target task
model = TransferModel(backbone, num_classes=3)

y = torch.randint(0, 3, (180,))
x = torch.randn(180, 3, 24, 24) + 1.0 + 0.5 * y.view(-1, 1, 1, 1)
train_loader = DataLoader(TensorDataset(x[:144], y[:144]), batch_size=24, shuffle=True)
val_loader = DataLoader(TensorDataset(x[144:], y[144:]), batch_size=24)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.head.parameters(), lr=3e-3)
for epoch in range(4):
    tr = run_epoch(model, train_loader, criterion, optimizer)
    va = run_epoch(model, val_loader, criterion)
    print(f"epoch {epoch}: train acc {tr:.3f} val acc {va:.3f}")
