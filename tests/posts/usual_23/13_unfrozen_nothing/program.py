"""Feature extraction: train only a new head on a frozen backbone."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models


def get_model(num_classes):
    model = models.resnet18(weights=None)
    num_ftrs = model.fc.in_features
    model.fc = nn.Sequential(
        nn.Dropout(0.2),
        nn.Linear(num_ftrs, num_classes),
    )
    for param in model.parameters():
        param.requires_grad = False
    return model


def set_train_mode(model):
    # the frozen batch norm layers keep their statistics
    model.eval()
    model.fc.train()


def train_model(model, dataloaders, criterion, optimizer, num_epochs=2):
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            if phase == "train":
                set_train_mode(model)
            else:
                model.eval()

            running_loss = 0.0
            running_corrects = 0
            for inputs, labels in dataloaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                    preds = outputs.argmax(1)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += (preds == labels).sum().item()

            n = len(dataloaders[phase].dataset)
            print(f"{epoch} {phase}: loss {running_loss / n:.4f} acc {running_corrects / n:.4f}")


def make_loader(n, shuffle):
    images = torch.randn(n, 3, 64, 64)
    labels = torch.randint(0, 2, (n,))
    return DataLoader(TensorDataset(images, labels), batch_size=8, shuffle=shuffle)


torch.manual_seed(0)
dataloaders = {"train": make_loader(48, True), "val": make_loader(16, False)}
model = get_model(num_classes=2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
train_model(model, dataloaders, criterion, optimizer)
