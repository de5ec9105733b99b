import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class FakeFashion(Dataset):
    """Same interface as FashionMNIST."""

    def __init__(self, train=True, transform=None):
        rng = np.random.default_rng(0 if train else 1)
        n = 320 if train else 64
        self.data = rng.integers(0, 256, (n, 28, 28), dtype=np.uint8)
        self.targets = rng.integers(0, 10, n)
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        img = Image.fromarray(self.data[index])
        target = int(self.targets[index])
        if self.transform is not None:
            img = self.transform(img)
        return img, target


transform = transforms.Compose([
    transforms.ToTensor(),
    transforms.Normalize((0.5,), (0.5,)),
])

trainset = FakeFashion(train=True, transform=transform)
testset = FakeFashion(train=False, transform=transform)
trainloader = DataLoader(trainset, batch_size=64, shuffle=True)
testloader = DataLoader(testset, batch_size=64)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 256)
        self.fc2 = nn.Linear(256, 64)
        self.fc3 = nn.Linear(64, 10)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = x.view(x.shape[0], -1)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


torch.manual_seed(0)
model = Classifier()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.003)

for e in range(3):
    running_loss = 0
    model.train()
    for images, labels in trainloader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in testloader:
            correct += (model(images).argmax(dim=1) == labels).sum().item()
    print(f"Epoch {e + 1}: train loss {running_loss / len(trainloader):.3f}, "
          f"test acc {correct / len(testset):.3f}")
