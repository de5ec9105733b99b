import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, n=896, size=224, classes=40):
        self.n = n
        self.size = size
        self.classes = classes

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"image": torch.rand(3, self.size, self.size), "labels": i % self.classes}


class VGG(nn.Module):
    def __init__(self, classes, size=224):
        super().__init__()
        layers = []
        cin = 3
        for v in (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512):
            if v == "M":
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [nn.Conv2d(cin, v, 3, padding=1), nn.ReLU(inplace=True)]
                cin = v
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(512 * (size // 16) ** 2, 6912), nn.ReLU(inplace=True), nn.Dropout(),
            nn.Linear(6912, 6912), nn.ReLU(inplace=True), nn.Dropout(),
            nn.Linear(6912, classes))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


EPOCH = 5
device = torch.device("cuda")
dataset = Photos()
batch_ctr = DataLoader(dataset, batch_size=8, shuffle=True)
model = VGG(dataset.classes).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.0001)

for epoch in range(EPOCH):
    model.train()
    correct = 0
    for batch in batch_ctr:
        images = batch["image"].to(device)
        labels = batch["labels"].to(device)
        optimizer.zero_grad()
        output = model(images)
        loss = criterion(output, labels)
        loss.backward()
        optimizer.step()
        correct += (output.argmax(dim=1) == labels).sum().item()
    print("epoch", epoch, "accuracy", correct / len(dataset))
