# Group project: dental x-rays, caries / no caries, with a torchvision network
import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import models, transforms

tfm_train = transforms.Compose([
    transforms.Resize((48, 48)),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize([0.5], [0.25]),
])
tfm_test = transforms.Compose([
    transforms.Resize((48, 48)),
    transforms.ToTensor(),
    transforms.Normalize([0.5], [0.25]),
])


def fake_xray(rng, caries):
    img = rng.normal(120, 15, size=(60, 70))
    if caries:
        r, c = rng.integers(10, 40, size=2)
        img[r:r + 12, c:c + 12] -= 80
    return Image.fromarray(np.clip(img, 0, 255).astype(np.uint8))


class XrayDataset(Dataset):
    def __init__(self, n, transform, seed=0):
        rng = np.random.default_rng(seed)
        self.targets = rng.integers(0, 2, size=n)
        self.images = [fake_xray(rng, t) for t in self.targets]
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image = self.images[idx]
        if self.transform:
            image = self.transform(image)
        return image, int(self.targets[idx])


def get_model():
    model = models.squeezenet1_1(weights=None)
    model.classifier[1] = nn.Conv2d(512, 2, kernel_size=1)
    return model


device = torch.device("cpu")
torch.manual_seed(0)
train_loader = DataLoader(XrayDataset(48, tfm_train), batch_size=16, shuffle=True)
test_loader = DataLoader(XrayDataset(16, tfm_test, seed=1), batch_size=16)

model = get_model().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)

for epoch in range(2):
    model.train()
    running = 0.0
    for images, targets in train_loader:
        images, targets = images.to(device), targets.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for images, targets in test_loader:
            correct += (model(images.to(device)).argmax(1).cpu() == targets).sum().item()
    print(f"epoch {epoch}: loss {running / len(train_loader):.3f}, test {correct / 16:.2f}")
