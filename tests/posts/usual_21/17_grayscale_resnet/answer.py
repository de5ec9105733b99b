import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision import models


class XrayDataset(Dataset):
    def __init__(self, n=80):
        g = torch.Generator().manual_seed(5)
        self.labels = torch.randint(0, 2, (n,), generator=g)
        self.images = 0.3 * torch.randn(n, 1, 64, 64, generator=g)
        self.images[self.labels == 1, :, 20:36, 20:36] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=1e-3):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = model.to(self.device)
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)

    def train_one_epoch(self):
        self.model.train()
        total = 0.0
        for images, labels in self.train_loader:
            images, labels = images.to(self.device), labels.to(self.device)
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(images), labels)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(labels)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        correct = 0
        for images, labels in self.val_loader:
            images, labels = images.to(self.device), labels.to(self.device)
            correct += (self.model(images).argmax(1) == labels).sum().item()
        return correct / len(self.val_loader.dataset)


torch.manual_seed(0)
train_set, val_set = random_split(XrayDataset(), [64, 16])
net = models.resnet18(weights=None)
net.conv1 = nn.Conv2d(1, 64, kernel_size=7, stride=2, padding=3, bias=False)
net.fc = nn.Linear(net.fc.in_features, 2)

trainer = Trainer(
    net,
    DataLoader(train_set, batch_size=16, shuffle=True),
    DataLoader(val_set, batch_size=16),
)
for epoch in range(3):
    loss = trainer.train_one_epoch()
    print(f"epoch {epoch}: loss {loss:.4f} val acc {trainer.validate():.3f}")
