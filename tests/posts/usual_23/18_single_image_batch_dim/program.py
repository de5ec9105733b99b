import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

CLASS_NAMES = ["cat", "dog", "horse"]

train_tf = transforms.Compose([
    transforms.RandomResizedCrop(64, scale=(0.7, 1.0)),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize([0.5] * 3, [0.5] * 3),
])
test_tf = transforms.Compose([
    transforms.Resize(72),
    transforms.CenterCrop(64),
    transforms.ToTensor(),
    transforms.Normalize([0.5] * 3, [0.5] * 3),
])


def random_image(rng, h=80, w=96):
    return Image.fromarray(rng.integers(0, 256, (h, w, 3), dtype=np.uint8))


class Animals(Dataset):
    def __init__(self, n, tf):
        rng = np.random.default_rng(0)
        self.items = [(random_image(rng), int(rng.integers(len(CLASS_NAMES)))) for _ in range(n)]
        self.tf = tf

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, label = self.items[i]
        return self.tf(img), label


def conv_block(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1, bias=False),
        nn.BatchNorm2d(c_out),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
    )


def build_model():
    return nn.Sequential(
        conv_block(3, 16),
        conv_block(16, 32),
        conv_block(32, 64),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, len(CLASS_NAMES)),
    )


def train(model, loader, epochs, device):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(epochs):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "last batch loss", round(loss.item(), 3))


def predict(model, image, device):
    model.eval()
    x = test_tf(image.convert("RGB")).to(device)
    with torch.no_grad():
        probs = torch.softmax(model(x), dim=1)[0]
    idx = probs.argmax().item()
    return CLASS_NAMES[idx], probs[idx].item()


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = build_model().to(device)
    train(model, DataLoader(Animals(48, train_tf), batch_size=16, shuffle=True), 2, device)
    name, score = predict(model, random_image(np.random.default_rng(9)), device)
    print(f"prediction: {name} ({score:.2f})")
