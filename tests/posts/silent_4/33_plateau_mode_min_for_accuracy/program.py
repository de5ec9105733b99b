import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset
from torchvision.ops import MLP

torch.manual_seed(33)

centers = torch.randn(8, 24)
labels = torch.randint(0, 8, (1600,))
points = centers[labels] + 1.3 * torch.randn(1600, 24)

train_loader = DataLoader(TensorDataset(points[:1200], labels[:1200]), batch_size=60, shuffle=True)
val_loader = DataLoader(TensorDataset(points[1200:], labels[1200:]), batch_size=100)

model = MLP(24, [64, 64, 8])
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = ReduceLROnPlateau(optimizer, factor=0.3, patience=2)


def run_validation():
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in val_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / 400


for epoch in range(20):
    model.train()
    loss_sum = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * y.size(0)

    val_acc = run_validation()
    scheduler.step(val_acc)
    lr = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch:2d} loss {loss_sum / 1200:.4f} val acc {val_acc:.3f} lr {lr:.2e}")
