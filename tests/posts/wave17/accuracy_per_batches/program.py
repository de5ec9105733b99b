import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

DEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


class SmallCNN(nn.Module):
    def __init__(self, n_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.drop = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.drop(x.flatten(1))
        return self.fc2(F.relu(self.fc1(x)))


def get_dataloaders(batch_size):
    digits = load_digits()
    x = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(digits.target)
    idx_train, idx_val = train_test_split(range(len(y)), test_size=0.2, random_state=1, stratify=y)
    train_ds = TensorDataset(x[idx_train], y[idx_train])
    val_ds = TensorDataset(x[idx_val], y[idx_val])
    return (DataLoader(train_ds, batch_size=batch_size, shuffle=True),
            DataLoader(val_ds, batch_size=batch_size))


def train_one_epoch(model, train_dl, criterion, optimizer):
    model.train()
    loss_sum, hits = 0.0, 0
    for step, (images, digits) in enumerate(train_dl, start=1):
        images, digits = images.to(DEVICE), digits.to(DEVICE)
        scores = model(images)
        loss = criterion(scores, digits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(images)
        hits += (scores.argmax(dim=1) == digits).sum().item()
    print(f'  train: loss {loss_sum / step:.4f}')
    print(f'  train: accuracy {hits / step:.4f}')


@torch.no_grad()
def validate(model, val_dl, criterion):
    model.eval()
    loss_sum, hits = 0.0, 0
    for step, (images, digits) in enumerate(val_dl, start=1):
        images, digits = images.to(DEVICE), digits.to(DEVICE)
        scores = model(images)
        loss_sum += criterion(scores, digits).item() * len(images)
        hits += (scores.argmax(dim=1) == digits).sum().item()
    val_acc = hits / step
    print(f'  valid: loss {loss_sum / step:.4f}, accuracy {val_acc:.4f}')
    return val_acc


def main(epochs=5, batch_size=32):
    torch.manual_seed(0)
    train_dl, val_dl = get_dataloaders(batch_size)
    model = SmallCNN().to(DEVICE)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    best = 0.0
    for epoch in range(epochs):
        start = time.time()
        print(f'Epoch {epoch + 1}/{epochs}')
        train_one_epoch(model, train_dl, criterion, optimizer)
        best = max(best, validate(model, val_dl, criterion))
        print(f'  {time.time() - start:.1f} s')
    print('best', best)


if __name__ == '__main__':
    main()
