import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--learning_rate", type=float, default=0.01)
parser.add_argument("--weight_decay", type=float, default=1e-5)
args = parser.parse_args()

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(23)


class BinaryConv2d(nn.Conv2d):
    def forward(self, x):
        scale = self.weight.abs().mean(dim=(1, 2, 3), keepdim=True).detach()
        hard = scale * torch.sign(self.weight)
        clipped = torch.clamp(self.weight, -1.0, 1.0)
        weight = hard.detach() - clipped.detach() + clipped
        return self._conv_forward(x, weight, self.bias)


class BinaryNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.PReLU(16),
            BinaryConv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.PReLU(32),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.fc = nn.Linear(32 * 4, num_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def make_loader(n, shuffle):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 3, 16, 16)
    for i, label in enumerate(y):
        x[i, :, 8 * (label // 2):8 * (label // 2) + 8, 8 * (label % 2):8 * (label % 2) + 8] += 0.5
    return DataLoader(TensorDataset(x, y), batch_size=args.batch_size, shuffle=shuffle)


def train(epoch, loader, model, criterion, optimizer, scheduler):
    model.train()
    lr = optimizer.param_groups[0]["lr"]
    total = 0.0
    for images, target in loader:
        images, target = images.to(device), target.to(device)
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    print(f"epoch {epoch}: learning rate {lr:.5f}, loss {total / len(loader):.4f}")


def validate(epoch, loader, model):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, target in loader:
            correct += (model(images.to(device)).argmax(1).cpu() == target).sum().item()
    print(f"epoch {epoch}: top1 {100 * correct / len(loader.dataset):.2f}")


def main():
    train_loader, val_loader = make_loader(512, True), make_loader(128, False)
    model = BinaryNet(4).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.learning_rate, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 - step / args.epochs)
    for epoch in range(args.epochs):
        train(epoch, train_loader, model, criterion, optimizer, scheduler)
        validate(epoch, val_loader, model)


if __name__ == "__main__":
    main()
