import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(11)

signals = torch.randn(900, 1, 64)
targets = (signals[:, 0, :32].pow(2).sum(1) > signals[:, 0, 32:].pow(2).sum(1)).long()
full = TensorDataset(signals, targets)
train_set, val_set = random_split(full, [700, 200])
train_loader = DataLoader(train_set, batch_size=35, shuffle=True)
val_loader = DataLoader(val_set, batch_size=100)

model = nn.Sequential(
    nn.Conv1d(1, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(4),
    nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(4),
    nn.Flatten(), nn.Dropout(0.4), nn.Linear(32 * 4, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)


def validate(net):
    net.eval()
    loss_sum, correct = 0.0, 0
    with torch.no_grad():
        for x, t in val_loader:
            out = net(x)
            loss_sum += criterion(out, t).item() * len(t)
            correct += (out.argmax(1) == t).sum().item()
    return loss_sum / len(val_set), correct / len(val_set)


model.train()
for epoch in range(12):
    epoch_loss = 0.0
    for x, t in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), t)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(t)
    val_loss, val_acc = validate(model)
    print(f"{epoch:2d} train {epoch_loss / len(train_set):.4f} val {val_loss:.4f} acc {val_acc:.3f}")
