import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Wine(Dataset):
    def __init__(self, count, seed):
        rng = np.random.RandomState(seed)
        self.x = rng.randn(count, 11).astype(np.float32)
        self.quality = np.clip(self.x[:, 0] * 2 + 3, 0, 5).astype(int)

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, i):
        return torch.tensor(self.x[i]), torch.tensor(self.quality[i])


def evaluate(model, loader, criterion):
    was_training = model.training
    model.eval()
    loss_sum = correct = count = 0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            loss_sum += criterion(logits, y).item() * y.size(0)
            pred = logits.argmax(dim=1, keepdim=True)
            correct += pred.eq(y.view_as(pred)).sum().item()
            count += y.size(0)
    model.train(was_training)
    return loss_sum / count, correct / count


torch.manual_seed(0)
train_loader = DataLoader(Wine(97, 0), batch_size=16, shuffle=True, drop_last=True)
val_loader = DataLoader(Wine(33, 1), batch_size=16)
model = nn.Sequential(nn.Linear(11, 32), nn.BatchNorm1d(32), nn.ReLU(),
                      nn.Dropout(0.2), nn.Linear(32, 6))
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=1e-2)

history = {"loss": [], "val_loss": [], "val_acc": []}
for epoch in range(3):
    losses = []
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    val_loss, val_acc = evaluate(model, val_loader, criterion)
    history["loss"].append(np.mean(losses))
    history["val_loss"].append(val_loss)
    history["val_acc"].append(val_acc)
print({k: [round(float(v), 3) for v in vs] for k, vs in history.items()})
