import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(27)

MICRO_BATCH = 8
ACCUM_STEPS = 16
LR = 0.1

x = torch.randn(2048, 16)
w = torch.randn(16)
y = (x @ w + 0.5 * torch.randn(2048) > 0).long()
train_loader = DataLoader(TensorDataset(x[:1792], y[:1792]), batch_size=MICRO_BATCH, shuffle=True)
val_x, val_y = x[1792:], y[1792:]

model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)

for epoch in range(8):
    model.train()
    optimizer.zero_grad()
    running = 0.0
    for i, (xb, yb) in enumerate(train_loader):
        loss = criterion(model(xb), yb)
        running += loss.item()
        loss.backward()
        if (i + 1) % ACCUM_STEPS == 0:
            optimizer.step()
            optimizer.zero_grad()

    model.eval()
    with torch.no_grad():
        logits = model(val_x)
        val_loss = criterion(logits, val_y).item()
        val_acc = (logits.argmax(1) == val_y).float().mean().item()
    print(f"epoch {epoch} train {running / len(train_loader):.4f} val {val_loss:.4f} acc {val_acc:.3f}")
