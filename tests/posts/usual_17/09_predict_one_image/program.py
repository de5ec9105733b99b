import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms

torch.manual_seed(0)
np.random.seed(0)
IMG_SIZE = 48
CLASSES = ['cat', 'dog']

train_tf = transforms.Compose([
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize([0.5] * 3, [0.5] * 3),
])
test_tf = transforms.Compose([
    transforms.Resize((IMG_SIZE, IMG_SIZE)),
    transforms.ToTensor(),
    transforms.Normalize([0.5] * 3, [0.5] * 3),
])


def fake_photo(label, size=IMG_SIZE):
    arr = np.random.randint(0, 120, (size, size, 3), dtype=np.uint8)
    arr[..., label] += 100
    return Image.fromarray(arr)


class CatDogDataset(Dataset):
    def __init__(self, n, transform):
        self.labels = [i % 2 for i in range(n)]
        self.photos = [fake_photo(l) for l in self.labels]
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.photos[i]), self.labels[i]


class CatDogNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Linear(32 * 12 * 12, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        x = self.features(x)
        x = x.view(x.size(0), -1)
        return self.classifier(x)


loader = DataLoader(CatDogDataset(128, train_tf), batch_size=16, shuffle=True)
model = CatDogNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    print('epoch', epoch, 'loss', loss.item())


def predict(image):
    model.eval()
    tensor = test_tf(image)
    with torch.no_grad():
        output = model(tensor)
        prob = torch.softmax(output, dim=1)
        conf, idx = prob.max(1)
    return CLASSES[idx.item()], conf.item()


for label in [0, 1]:
    photo = fake_photo(label, size=200)
    name, confidence = predict(photo)
    print('true: %s, predicted: %s (%.2f)' % (CLASSES[label], name, confidence))
