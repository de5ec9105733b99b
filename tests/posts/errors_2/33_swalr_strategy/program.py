import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

x = torch.randn(600, 12)
y = ((x[:, 0] * x[:, 1] + x[:, 2]) > 0).long()
train_loader = DataLoader(TensorDataset(x[:480], y[:480]), batch_size=40, shuffle=True)
x_val, y_val = x[480:], y[480:]

model = nn.Sequential(
    nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

epochs, swa_start = 12, 8
scheduler = CosineAnnealingLR(optimizer, T_max=swa_start)
swa_model = AveragedModel(model)
swa_scheduler = SWALR(optimizer, swa_lr=0.02, anneal_epochs=2, anneal_strategy="cosine")


def accuracy(net):
    net.eval()
    with torch.no_grad():
        return (net(x_val).argmax(1) == y_val).float().mean().item()


for epoch in range(epochs):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        criterion(model(xb), yb).backward()
        optimizer.step()
    if epoch >= swa_start:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    print(f"epoch {epoch} val acc {accuracy(model):.3f}")

update_bn(train_loader, swa_model)
print(f"swa val acc {accuracy(swa_model):.3f}")
