import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
EPOCHS = 5
BATCH_SIZE = 48
MAX_LR = 0.05

x = torch.randn(1000, 16)
w = torch.randn(16, 3)
y = (x @ w + 0.3 * torch.randn(1000, 3)).argmax(dim=1)
dataset = TensorDataset(x, y)
train_loader = DataLoader(dataset, batch_size=BATCH_SIZE, shuffle=True)

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=MAX_LR / 25, momentum=0.9)

steps_per_epoch = len(train_loader)
scheduler = OneCycleLR(
    optimizer, max_lr=MAX_LR, epochs=EPOCHS, steps_per_epoch=steps_per_epoch, pct_start=0.3
)

history = []
for epoch in range(EPOCHS):
    model.train()
    running, correct = 0.0, 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        out = model(xb)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item() * len(xb)
        correct += (out.argmax(1) == yb).sum().item()
    history.append((running / len(dataset), correct / len(dataset)))
    lr = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch} loss {history[-1][0]:.4f} acc {history[-1][1]:.3f} lr {lr:.5f}")
