"""A training script with three mistakes that a first minute of it does not show."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    """Images (1, 28, 28) and their labels."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.rand(1, 28, 28), index % 10


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 5)
        self.fc1 = nn.Linear(8 * 12 * 12, 32)
        self.norm = nn.BatchNorm1d(32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(self.conv(x).relu(), 2)
        return self.fc2(self.norm(self.fc1(x.flatten(1))).relu())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train = DataLoader(Digits(60_001), 64, shuffle=True, num_workers=4)
    test = DataLoader(Digits(10_000), 256)
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(options.epochs):
        model.train()
        total = torch.zeros((), device=device)
        for images, labels in train:
            loss = nn.functional.cross_entropy(model(images.to(device)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss
        right = 0
        with torch.no_grad():
            for images, labels in test:
                guess = model(images.to(device)).argmax(1)
                right += (guess == labels.to(device)).sum().item()
        print(epoch, total.item() / len(train), right / len(test.dataset))
        torch.save(model.state_dict(), f"digits-{epoch}.pt")


if __name__ == "__main__":
    main()
