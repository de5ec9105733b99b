import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models


def build_model(num_classes):
    model = models.resnet18(weights=None)
    model.fc = nn.Linear(model.fc.in_features, num_classes)
    for param in model.parameters():
        param.requires_grad = False
    return model


def get_loaders(n_train=24, n_val=8, batch_size=8):
    x = torch.randn(n_train + n_val, 3, 64, 64)
    y = torch.randint(0, 2, (n_train + n_val,))
    train = TensorDataset(x[:n_train], y[:n_train])
    val = TensorDataset(x[n_train:], y[n_train:])
    return DataLoader(train, batch_size=batch_size, shuffle=True), DataLoader(val, batch_size=batch_size)


def train_one_epoch(model, loader, criterion, optimizer):
    model.eval()
    model.fc.train()
    running = 0.0
    for inputs, labels in loader:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running += loss.item() * inputs.size(0)
    return running / len(loader.dataset)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    correct = 0
    for inputs, labels in loader:
        correct += (model(inputs).argmax(dim=1) == labels).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    model = build_model(num_classes=2)
    train_loader, val_loader = get_loaders()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.001, momentum=0.9)
    for epoch in range(2):
        loss = train_one_epoch(model, train_loader, criterion, optimizer)
        acc = validate(model, val_loader)
        print(f"Epoch {epoch}: train loss {loss:.4f}, val acc {acc:.2f}")


if __name__ == "__main__":
    main()
