import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader
from torchvision import models, transforms


class BeesAnts(Dataset):
    """two classes, PIL images in real life"""

    def __init__(self, n, transform=None):
        self.images = torch.randint(0, 256, (n, 3, 80, 80), dtype=torch.uint8)
        self.labels = torch.randint(0, 2, (n,))
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        img = self.images[idx].float() / 255
        if self.transform:
            img = self.transform(img)
        return img, self.labels[idx]


tf = transforms.Compose([
    transforms.CenterCrop(64),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])
dataloaders = {
    "train": DataLoader(BeesAnts(32, tf), batch_size=8, shuffle=True),
    "val": DataLoader(BeesAnts(16, tf), batch_size=8),
}

# offline machine, so no pretrained download here: weights=None
model = models.resnet18(weights=None)

for param in model.parameters():
    param.requires_grad = False

num_ftrs = model.fc.in_features
model.classifier = nn.Sequential(
    nn.Dropout(0.3),
    nn.Linear(num_ftrs, 2),
)

criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.classifier.parameters(), lr=0.001, momentum=0.9)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)

for epoch in range(2):
    for phase in ["train", "val"]:
        model.train(phase == "train")
        running_loss, running_corrects = 0.0, 0

        for inputs, labels in dataloaders[phase]:
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                outputs = model(inputs)
                preds = outputs.argmax(1)
                loss = criterion(outputs, labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
            running_loss += loss.item() * inputs.size(0)
            running_corrects += (preds == labels).sum().item()

        if phase == "train":
            scheduler.step()
        n = len(dataloaders[phase].dataset)
        print(f"{epoch} {phase} loss: {running_loss / n:.4f} acc: {running_corrects / n:.4f}")
