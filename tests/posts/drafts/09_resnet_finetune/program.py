from pathlib import Path

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

torch.manual_seed(10)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

CLASSES = ["ant", "bee", "wasp"]
WEIGHTS = Path("resnet18_imagenet.pth")

train_tf = transforms.Compose([
    transforms.RandomHorizontalFlip(),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])
val_tf = transforms.Compose([
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])


class InsectDataset(Dataset):
    def __init__(self, n, transform=None):
        self.labels = torch.randint(0, len(CLASSES), (n,))
        self.images = torch.rand(n, 3, 64, 64) * 0.7 + 0.1 * self.labels.view(-1, 1, 1, 1)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        img = self.images[idx]
        if self.transform:
            img = self.transform(img)
        return img, self.labels[idx]


train_loader = DataLoader(InsectDataset(64, train_tf), batch_size=16, shuffle=True)
val_loader = DataLoader(InsectDataset(32, val_tf), batch_size=16)

model = models.resnet18(weights=None)
if WEIGHTS.exists():
    model.load_state_dict(torch.load(WEIGHTS, map_location="cpu"))
model.fc = nn.Linear(2048, len(CLASSES))

for param in model.parameters():
    param.requires_grad = False

model = model.to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.01, momentum=0.9)


def train_one_epoch():
    model.train()
    running = 0.0
    for inputs, labels in train_loader:
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running += loss.item() * inputs.size(0)
    return running / len(train_loader.dataset)


def validate():
    correct = 0
    with torch.no_grad():
        for inputs, labels in val_loader:
            inputs, labels = inputs.to(device), labels.to(device)
            preds = model(inputs).argmax(dim=1)
            correct += (preds == labels).sum().item()
    return correct / len(val_loader.dataset)


for epoch in range(2):
    train_loss = train_one_epoch()
    val_acc = validate()
    print(f"Epoch {epoch}: train loss {train_loss:.4f}, val acc {val_acc:.3f}")
