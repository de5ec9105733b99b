import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

classes = ["scratch", "clean"]

train_pipeline = transforms.Compose([
    transforms.RandomResizedCrop(32, scale=(0.1, 0.6)),
    transforms.RandomHorizontalFlip(),
    transforms.ColorJitter(brightness=0.3, contrast=0.3),
    transforms.ToTensor(),
    transforms.Normalize([0.5] * 3, [0.25] * 3),
    transforms.RandomErasing(p=0.8, scale=(0.2, 0.5)),
])

val_pipeline = transforms.Compose([
    transforms.Resize((32, 32)),
    transforms.ToTensor(),
    transforms.Normalize([0.5] * 3, [0.25] * 3),
])


def photo(label, rng):
    """48x48 photo of a metal plate, a scratched plate has a dark stripe."""
    arr = rng.normal(150, 20, size=(48, 48, 3))
    if label == 0:
        col = rng.integers(4, 40)
        arr[:, col:col + 4] -= 90
    return Image.fromarray(arr.clip(0, 255).astype(np.uint8))


class PlateDataset(Dataset):
    def __init__(self, n, pipeline, seed):
        rng = np.random.default_rng(seed)
        self.labels = [i % 2 for i in range(n)]
        self.images = [photo(y, rng) for y in self.labels]
        self.pipeline = pipeline

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.pipeline(self.images[i]), self.labels[i]


def build_model():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(32, len(classes)),
    )


def train(model, epochs=6):
    loader = DataLoader(PlateDataset(160, train_pipeline, 0), batch_size=16, shuffle=True)
    val_loader = DataLoader(PlateDataset(60, val_pipeline, 1), batch_size=20)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        for images, labels in loader:
            optimizer.zero_grad()
            criterion(model(images), labels).backward()
            optimizer.step()
        model.eval()
        correct = 0
        with torch.no_grad():
            for images, labels in val_loader:
                correct += (model(images).argmax(1) == labels).sum().item()
        print("epoch %d top1 %.3f" % (epoch, correct / 60))


def predict(model, images):
    """Names and scores for a list of PIL photos."""
    model.eval()
    results = []
    with torch.no_grad():
        for img in images:
            x = train_pipeline(img).unsqueeze(0)
            prob = model(x).softmax(dim=1)[0]
            k = prob.argmax().item()
            results.append((classes[k], prob[k].item()))
    return results


if __name__ == "__main__":
    torch.manual_seed(0)
    net = build_model()
    train(net)
    rng = np.random.default_rng(5)
    truth = [int(rng.integers(0, 2)) for _ in range(80)]
    batch = [photo(t, rng) for t in truth]
    out = predict(net, batch)
    good = sum(classes[t] == name for t, (name, _) in zip(truth, out))
    print("new photos: %d of %d right" % (good, len(truth)))
    print(out[:5])
