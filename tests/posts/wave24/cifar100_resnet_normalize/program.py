import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

mean = [x / 255.0 for x in [0.507, 0.487, 0.441]]
std = [x / 255.0 for x in [0.267, 0.256, 0.276]]

train_transform = transforms.Compose([
    transforms.RandomCrop(32, padding=4),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize(mean=mean, std=std),
])
test_transform = transforms.Compose([
    transforms.ToTensor(),
    transforms.Normalize(mean=mean, std=std),
])


class SmallImages(Dataset):
    def __init__(self, n, num_classes, transform, seed):
        rng = np.random.default_rng(seed)
        self.targets = rng.integers(0, num_classes, n)
        palette = np.random.default_rng(100).normal(0, 35, size=(num_classes, 1, 1, 3))
        pixels = 125 + palette[self.targets] + rng.normal(0, 60, size=(n, 32, 32, 3))
        self.images = pixels.clip(0, 255).astype(np.uint8)
        self.transform = transform

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        image = Image.fromarray(self.images[index])
        return self.transform(image), int(self.targets[index])


class Bottleneck(nn.Module):
    def __init__(self, c_in, width, stride=1):
        super().__init__()
        c_out = 2 * width
        self.body = nn.Sequential(
            nn.Conv2d(c_in, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, c_out, 1, bias=False), nn.BatchNorm2d(c_out),
        )
        self.shortcut = nn.Conv2d(c_in, c_out, 1, stride=stride, bias=False)

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def build_resnet(num_classes):
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
        Bottleneck(16, 8), Bottleneck(16, 16, stride=2), Bottleneck(32, 32, stride=2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, num_classes),
    )


def evaluate(net, loader):
    net.eval()
    correct = total = 0
    with torch.no_grad():
        for inputs, labels in loader:
            predicted = net(inputs.to(device)).argmax(dim=1).cpu()
            correct += (predicted == labels).sum().item()
            total += labels.size(0)
    return 100.0 * correct / total


def main():
    torch.manual_seed(0)
    train_set = SmallImages(512, 20, train_transform, seed=0)
    test_set = SmallImages(256, 20, test_transform, seed=1)
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=128)

    inputs, _ = next(iter(test_loader))
    print(f"input range: {inputs.min():.2f} .. {inputs.max():.2f}")

    net = build_resnet(20).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)

    for epoch in range(5):
        net.train()
        running_loss = 0.0
        for inputs, labels in train_loader:
            inputs, labels = inputs.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = criterion(net(inputs), labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        print(f"epoch {epoch + 1}: loss {running_loss / len(train_loader):.3f} accuracy {evaluate(net, test_loader):.1f}%")


if __name__ == "__main__":
    main()
