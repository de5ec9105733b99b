import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

EPOCHS = 5
BATCH_SIZE = 32
MAX_LR = 0.05


class KeywordSpectrograms(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 8, (n,), generator=g)
        self.x = torch.randn(n, 1, 40, 50, generator=g)
        for i, label in enumerate(self.y):
            self.x[i, 0, 5 * label : 5 * label + 5] += 1.0

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class KeywordNet(nn.Module):
    def __init__(self, n_keywords=8):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5, stride=2, padding=2)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.fc = nn.Linear(32 * 10 * 13, n_keywords)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.flatten(1))


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
            total += y.numel()
    return correct / total


torch.manual_seed(0)
train_set = KeywordSpectrograms(300, seed=0)
val_set = KeywordSpectrograms(80, seed=1)
train_loader = DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True)
val_loader = DataLoader(val_set, batch_size=80)

model = KeywordNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=MAX_LR / 25, momentum=0.9)
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer,
    max_lr=MAX_LR,
    epochs=EPOCHS,
    steps_per_epoch=len(train_set) // BATCH_SIZE,
)

for epoch in range(EPOCHS):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item() * y.numel()
    lr = scheduler.get_last_lr()[0]
    print(f"epoch {epoch} loss {running / len(train_set):.4f} lr {lr:.5f} val {evaluate(model, val_loader):.3f}")
