import torch
import torch.nn as nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models

torch.manual_seed(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def get_loaders():
    x = torch.randn(48, 3, 64, 64)
    y = torch.randint(0, 2, (48,))
    train = TensorDataset(x[:32], y[:32])
    val = TensorDataset(x[32:], y[32:])
    return {
        "train": DataLoader(train, batch_size=8, shuffle=True),
        "val": DataLoader(val, batch_size=8),
    }


def build_model(num_classes=2):
    model = models.resnet18(weights=None)
    num_ftrs = model.fc.in_features
    model.fc = nn.Linear(num_ftrs, num_classes)
    for param in model.parameters():
        param.requires_grad = False
    return model.to(device)


def train_model(model, loaders, criterion, optimizer, scheduler, num_epochs=2):
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train() if phase == "train" else model.eval()
            running_loss, running_corrects = 0.0, 0
            for inputs, labels in loaders[phase]:
                inputs, labels = inputs.to(device), labels.to(device)
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += (outputs.argmax(1) == labels).sum().item()
            if phase == "train":
                scheduler.step()
            n = len(loaders[phase].dataset)
            print(f"{epoch} {phase} loss {running_loss / n:.4f} acc {running_corrects / n:.4f}")
    return model


model_ft = build_model()
criterion = nn.CrossEntropyLoss()
optimizer_ft = torch.optim.SGD(model_ft.fc.parameters(), lr=0.001, momentum=0.9)
exp_lr_scheduler = lr_scheduler.StepLR(optimizer_ft, step_size=7, gamma=0.1)
train_model(model_ft, get_loaders(), criterion, optimizer_ft, exp_lr_scheduler)
