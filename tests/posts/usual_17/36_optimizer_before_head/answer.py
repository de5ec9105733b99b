import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from torchvision import models, transforms

torch.manual_seed(0)
np.random.seed(0)


class FlowerDataset(Dataset):
    def __init__(self, n, train):
        self.y = np.random.randint(0, 5, n)
        self.x = (np.random.rand(n, 3, 64, 64) * 0.5).astype(np.float32)
        for i, c in enumerate(self.y):
            self.x[i, c % 3] += 0.4
            if c > 2:
                self.x[i, :, 16:48, 16:48] += 0.4
        norm = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        self.tf = transforms.Compose([transforms.RandomHorizontalFlip(), norm]) if train else norm

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.tf(torch.from_numpy(self.x[i])), int(self.y[i])


CONFIG = {
    'num_classes': 5,
    'lr': 1e-3,
    'weight_decay': 1e-4,
    'epochs': 3,
    'batch_size': 16,
}


def build(cfg):
    model = models.resnet18(weights=None)
    for p in model.parameters():
        p.requires_grad = False
    for p in model.layer4.parameters():
        p.requires_grad = True
    model.fc = nn.Sequential(
        nn.Dropout(0.2),
        nn.Linear(model.fc.in_features, cfg['num_classes']),
    )
    optimizer = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad],
        lr=cfg['lr'], weight_decay=cfg['weight_decay'])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    return model, optimizer, scheduler


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for images, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), targets)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def validate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, targets in loader:
            correct += (model(images).argmax(1) == targets).sum().item()
    return correct / len(loader.dataset)


def main():
    train_dl = DataLoader(FlowerDataset(160, True), batch_size=CONFIG['batch_size'], shuffle=True)
    val_dl = DataLoader(FlowerDataset(60, False), batch_size=CONFIG['batch_size'])
    model, optimizer, scheduler = build(CONFIG)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(CONFIG['epochs']):
        loss = train_one_epoch(model, train_dl, criterion, optimizer)
        acc = validate(model, val_dl)
        scheduler.step()
        print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.1e} loss {loss:.4f} acc {acc:.3f}")


if __name__ == '__main__':
    main()
