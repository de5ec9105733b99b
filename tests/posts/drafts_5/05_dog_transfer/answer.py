import copy
import time

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import models, transforms

CLASSES = ["beagle", "boxer", "poodle"]

data_transforms = {
    "train": transforms.Compose([
        transforms.RandomResizedCrop(64, scale=(0.7, 1.0)),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]),
    "val": transforms.Compose([
        transforms.Resize(72),
        transforms.CenterCrop(64),
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]),
}


class DogPhotos(Dataset):
    COAT = {"beagle": (150, 100, 60), "boxer": (190, 140, 90), "poodle": (225, 220, 215)}

    def __init__(self, n, transform, seed):
        rng = np.random.default_rng(seed)
        self.transform = transform
        self.targets = rng.integers(0, len(CLASSES), n).tolist()
        self.images = []
        for target in self.targets:
            canvas = rng.integers(60, 130, (80, 80, 3))
            canvas[16:64, 16:64] = np.array(self.COAT[CLASSES[target]]) + rng.integers(-30, 30, (48, 48, 3))
            self.images.append(Image.fromarray(canvas.clip(0, 255).astype(np.uint8)))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.transform(self.images[index]), self.targets[index]


torch.manual_seed(8)
datasets = {
    "train": DogPhotos(160, data_transforms["train"], 1),
    "val": DogPhotos(48, data_transforms["val"], 2),
}
dataloaders = {k: DataLoader(d, batch_size=16, shuffle=(k == "train")) for k, d in datasets.items()}
dataset_sizes = {k: len(d) for k, d in datasets.items()}
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def train_model(model, criterion, optimizer, num_epochs=3):
    since = time.time()
    best_acc = 0.0
    best_weights = copy.deepcopy(model.state_dict())

    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train(phase == "train")
            running_loss, running_corrects = 0.0, 0
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
                running_corrects += torch.sum(preds == labels).item()
            epoch_loss = running_loss / dataset_sizes[phase]
            epoch_acc = running_corrects / dataset_sizes[phase]
            print(f"epoch {epoch} {phase}: loss {epoch_loss:.4f} acc {epoch_acc:.4f}")
            if phase == "val" and epoch_acc > best_acc:
                best_acc = epoch_acc
                best_weights = copy.deepcopy(model.state_dict())

    print(f"done in {time.time() - since:.0f}s, best val acc {best_acc:.4f}")
    model.load_state_dict(best_weights)
    return model


model = models.resnet18(weights=None)
for param in model.parameters():
    param.requires_grad = False
model.fc = nn.Linear(model.fc.in_features, len(CLASSES))
model = model.to(device)

criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.fc.parameters(), lr=0.05, momentum=0.9)

model = train_model(model, criterion, optimizer)
