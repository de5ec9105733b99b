import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.models import mobilenet_v3_small
from torchvision.transforms import v2

IMAGENET_MEAN = [0.485, 0.456, 0.406]
IMAGENET_STD = [0.229, 0.224, 0.225]
SURFACES = ["asphalt", "gravel", "cobbles"]


def render(surface: int, rng: np.random.Generator) -> Image.Image:
    """a synthetic 80 x 80 road photo"""
    base = np.full((80, 80, 3), (90, 140, 110)[surface], dtype=np.float32)
    if surface == 1:
        base += rng.normal(0, 45, (80, 80, 1))
    elif surface == 2:
        yy, xx = np.mgrid[:80, :80]
        base += 50 * (np.sin(xx / 3) * np.sin(yy / 3))[..., None]
    base += rng.normal(0, 8, base.shape)
    return Image.fromarray(base.clip(0, 255).astype(np.uint8))


class RoadSurface(Dataset):
    def __init__(self, n, transform, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, len(SURFACES), n)
        self.images = [render(int(s), rng) for s in self.labels]
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image = self.images[idx]
        image = self.transform(image)
        return image, int(self.labels[idx])


train_tf = v2.Compose([
    v2.ToImage(),
    v2.RandomResizedCrop(64, scale=(0.6, 1.0), antialias=True),
    v2.RandomHorizontalFlip(),
    v2.ColorJitter(brightness=0.2, contrast=0.2),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize(IMAGENET_MEAN, IMAGENET_STD),
])
eval_tf = v2.Compose([
    v2.ToImage(),
    v2.Resize(72, antialias=True),
    v2.CenterCrop(64),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize(IMAGENET_MEAN, IMAGENET_STD),
])


def build_model(n_classes):
    model = mobilenet_v3_small(weights=None)
    model.classifier[-1] = nn.Linear(model.classifier[-1].in_features, n_classes)
    return model


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.inference_mode():
        for images, labels in loader:
            correct += (model(images).argmax(1) == labels).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(RoadSurface(192, train_tf, 0), batch_size=32, shuffle=True)
    eval_loader = DataLoader(RoadSurface(48, eval_tf, 1), batch_size=48)
    model = build_model(len(SURFACES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

    for epoch in range(2):
        model.train()
        running = 0.0
        for images, labels in train_loader:
            loss = criterion(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch}: loss {running / len(train_loader):.3f} acc {evaluate(model, eval_loader):.3f}")


if __name__ == "__main__":
    main()
