import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import resnet18


def build_model(num_classes):
    model = resnet18(weights=None)
    for param in model.parameters():
        param.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, num_classes)
    return model


def make_loaders(num_classes, batch_size=16):
    torch.manual_seed(0)
    y = torch.randint(0, num_classes, (64,))
    x = torch.randn(64, 3, 64, 64) + y[:, None, None, None] * 0.5
    train = TensorDataset(x[:48], y[:48])
    val = TensorDataset(x[48:], y[48:])
    return (DataLoader(train, batch_size=batch_size, shuffle=True),
            DataLoader(val, batch_size=batch_size))


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    running = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        running += loss.item() * images.size(0)
    return running / len(loader.dataset)


def validate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(dim=1) == labels).sum().item()
    return correct / len(loader.dataset)


if __name__ == "__main__":
    num_classes = 4
    train_loader, val_loader = make_loaders(num_classes)
    model = build_model(num_classes)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(3):
        loss = train_one_epoch(model, train_loader, criterion, optimizer)
        print(f"Epoch {epoch}: loss {loss:.4f}, val acc {validate(model, val_loader):.3f}")
