import torch
from torch import nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 16
targets = torch.tensor(digits.target)
train_loader = DataLoader(TensorDataset(images[:1200], targets[:1200]), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(images[1200:], targets[1200:]), batch_size=128)

model = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Dropout(0.2), nn.Linear(100, 10))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def accuracy(logits, labels):
    return (logits.argmax(dim=1) == labels).float().mean()


@torch.no_grad()
def evaluate():
    model.eval()
    losses, accs = [], []
    for x, y in val_loader:
        logits = model(x)
        losses.append(criterion(logits, y))
        accs.append(accuracy(logits, y))
    return torch.stack(losses).mean().item(), torch.stack(accs).mean().item()


for epoch in range(4):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    val_loss, val_acc = evaluate()
    print(f"epoch {epoch} val loss {val_loss:.4f} val acc {val_acc:.3f}")
