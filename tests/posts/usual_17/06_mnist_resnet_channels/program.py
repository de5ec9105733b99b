import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from torchvision import models, transforms
import numpy as np
from PIL import Image

torch.manual_seed(0)
np.random.seed(0)


class DigitsDataset(Dataset):
    """28x28 images of digits (fake), as PIL images like torchvision's MNIST."""

    def __init__(self, n, transform=None):
        self.labels = np.random.randint(0, 10, n)
        self.images = []
        for l in self.labels:
            img = np.random.randint(0, 60, (28, 28), dtype=np.uint8)
            img[2 * l:2 * l + 6, 4:24] += 150
            self.images.append(img)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        img = Image.fromarray(self.images[index], mode='L')
        if self.transform is not None:
            img = self.transform(img)
        return img, int(self.labels[index])


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

transform = transforms.Compose([
    transforms.Resize(64),
    transforms.ToTensor(),
    transforms.Normalize((0.1307,), (0.3081,)),
])

train_set = DigitsDataset(128, transform)
test_set = DigitsDataset(64, transform)
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
test_loader = DataLoader(test_set, batch_size=32)

model = models.resnet18(weights=None)
num_ftrs = model.fc.in_features
model.fc = nn.Linear(num_ftrs, 10)
model = model.to(device)

criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def train_one_epoch(epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % 2 == 0:
            print('Epoch {} [{}/{}] loss {:.4f}'.format(epoch, batch_idx, len(train_loader), loss.item()))


def evaluate():
    model.eval()
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            correct += (model(data).argmax(1) == target).sum().item()
    return correct / len(test_set)


for epoch in range(1, 3):
    train_one_epoch(epoch)
    print('accuracy', evaluate())
