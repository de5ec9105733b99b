import numpy as np
import torch
from PIL import Image
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.models import mobilenet_v3_small

IMAGENET_MEAN = [0.485, 0.456, 0.406]
IMAGENET_STD = [0.229, 0.224, 0.225]

train_tf = transforms.Compose([
    transforms.Resize(72),
    transforms.RandomCrop(64),
    transforms.RandomHorizontalFlip(),
    transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD),
    transforms.ToTensor(),
])


class FlowerImages(Dataset):
    def __init__(self, n, transform=None):
        rng = np.random.default_rng(0)
        self.pixels = rng.integers(0, 256, size=(n, 80, 80, 3), dtype=np.uint8)
        self.targets = rng.integers(0, 5, size=n)
        self.transform = transform

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, idx):
        image = Image.fromarray(self.pixels[idx])
        if self.transform is not None:
            image = self.transform(image)
        return image, int(self.targets[idx])


def main():
    torch.manual_seed(0)
    dataset = FlowerImages(40, transform=train_tf)
    loader = DataLoader(dataset, batch_size=10, shuffle=True)

    model = mobilenet_v3_small(weights=None, num_classes=5)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)

    model.train()
    for epoch in range(2):
        epoch_loss = 0.0
        for images, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), targets)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item() * images.size(0)
        print(f"Epoch {epoch + 1}: {epoch_loss / len(dataset):.4f}")


if __name__ == "__main__":
    main()
