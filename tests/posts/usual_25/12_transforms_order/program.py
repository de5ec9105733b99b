import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import models, transforms

train_tf = transforms.Compose([
    transforms.RandomResizedCrop(64, scale=(0.7, 1.0)),
    transforms.RandomHorizontalFlip(),
    transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
    transforms.ToTensor(),
])
val_tf = transforms.Compose([
    transforms.Resize(72),
    transforms.CenterCrop(64),
    transforms.ToTensor(),
    transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
])


class FlowerDataset(Dataset):
    def __init__(self, n, transform, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 3, n)
        self.images = []
        for label in self.labels:
            arr = rng.integers(0, 120, (80, 96, 3), dtype=np.uint8)
            arr[..., label] += 100
            self.images.append(Image.fromarray(arr))
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return self.transform(self.images[idx]), int(self.labels[idx])


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    loss_sum, correct = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for images, labels in loader:
            logits = model(images)
            loss = criterion(logits, labels)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(labels)
            correct += (logits.argmax(1) == labels).sum().item()
    n = len(loader.dataset)
    return loss_sum / n, correct / n


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(FlowerDataset(96, train_tf, 0), batch_size=16, shuffle=True)
    val_loader = DataLoader(FlowerDataset(48, val_tf, 1), batch_size=16)
    model = models.resnet18(weights=None, num_classes=3)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        tr = run_epoch(model, train_loader, criterion, optimizer)
        va = run_epoch(model, val_loader, criterion)
        print(f"epoch {epoch} train loss {tr[0]:.3f} acc {tr[1]:.2f} | val loss {va[0]:.3f} acc {va[1]:.2f}")
