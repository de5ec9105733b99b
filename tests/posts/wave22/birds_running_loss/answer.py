import copy
import time

import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(21)

NUM_CLASSES = 5


def make_birds(n):
    labels = torch.randint(0, NUM_CLASSES, (n,))
    images = torch.randn(n, 3, 32, 32)
    for i, label in enumerate(labels):
        images[i, label % 3, 6 * label:6 * label + 6] += 1.5
    return TensorDataset(images, labels)


image_datasets = {"train": make_birds(208), "val": make_birds(80)}
dataloaders = {p: DataLoader(image_datasets[p], batch_size=16, shuffle=(p == "train")) for p in ["train", "val"]}
dataset_sizes = {p: len(image_datasets[p]) for p in ["train", "val"]}


def train_model(model, criterion, optimizer, scheduler, num_epochs=3):
    since = time.time()
    best_model_wts = copy.deepcopy(model.state_dict())
    best_acc = 0.0

    for epoch in range(num_epochs):
        print(f"Epoch {epoch}/{num_epochs - 1}")
        for phase in ["train", "val"]:
            model.train(phase == "train")
            running_loss = 0.0
            running_corrects = 0

            for inputs, labels in dataloaders[phase]:
                inputs, labels = inputs.to(device), labels.to(device)
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    _, preds = torch.max(outputs, 1)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(preds == labels.data)

            if phase == "train":
                scheduler.step()
            epoch_loss = running_loss / dataset_sizes[phase]
            epoch_acc = running_corrects.double() / dataset_sizes[phase]
            print(f"{phase} Loss: {epoch_loss:.4f} Acc: {epoch_acc:.4f}")

            if phase == "val" and epoch_acc > best_acc:
                best_acc = epoch_acc
                best_model_wts = copy.deepcopy(model.state_dict())

    print(f"Training complete in {time.time() - since:.0f}s, best val Acc: {best_acc:.4f}")
    model.load_state_dict(best_model_wts)
    return model


model_ft = models.resnet18(weights=None)
model_ft.fc = nn.Linear(model_ft.fc.in_features, NUM_CLASSES)
model_ft = model_ft.to(device)
criterion = nn.CrossEntropyLoss()
optimizer_ft = optim.SGD(model_ft.parameters(), lr=0.01, momentum=0.9)
exp_lr_scheduler = lr_scheduler.StepLR(optimizer_ft, step_size=2, gamma=0.1)
model_ft = train_model(model_ft, criterion, optimizer_ft, exp_lr_scheduler)
