import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

root = tempfile.mkdtemp()
rng = np.random.RandomState(0)
for kind in ("bus", "coupe", "truck"):
    os.makedirs(os.path.join(root, kind))
    for i in range(12):
        np.save(os.path.join(root, kind, f"{i}.npy"), rng.randint(0, 256, (32, 32, 3), dtype=np.uint8))


class CarDataset(Dataset):
    def __init__(self, root, transform=None):
        self.transform = transform
        self.classes = sorted(os.listdir(root))
        self.files = [(os.path.join(root, c, f), k)
                      for k, c in enumerate(self.classes)
                      for f in sorted(os.listdir(os.path.join(root, c)))]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        path, label = self.files[idx]
        image = np.load(path)
        if self.transform:
            image = self.transform(image)
        return image, label


def to_tensor(image):
    image = image.astype(np.float32) / 255.0
    image = (image - 0.5) / 0.5
    return torch.from_numpy(image)


class CarNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 60)
        self.fc2 = nn.Linear(60, 3)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        return self.fc2(F.relu(self.fc1(x)))


torch.manual_seed(0)
trainset = CarDataset(root, transform=to_tensor)
trainloader = DataLoader(trainset, batch_size=4, shuffle=True, num_workers=0)
net = CarNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)

for epoch in range(2):  # loop over the dataset multiple times
    running_loss = 0.0
    for i, data in enumerate(trainloader, 0):
        inputs, labels = data
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print(f"[{epoch + 1}] loss: {running_loss / (i + 1):.3f}")
print("Finished Training")
