import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


class Birds(Dataset):
    def __init__(self, n):
        rng = np.random.default_rng(n)
        self.images = rng.integers(0, 256, (n, 24, 24, 3), dtype=np.uint8)
        self.species = rng.integers(0, 4, n)

    def __len__(self):
        return len(self.species)

    def __getitem__(self, i):
        image = self.images[i].astype(np.float32).transpose(2, 0, 1) / 255.0
        return torch.from_numpy(image), torch.tensor(self.species[i])


def load_frozen(path):
    model = Backbone()
    model.load_state_dict(torch.load(path, weights_only=True))
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, 4)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(0)
    path = os.path.join(tempfile.mkdtemp(), "pretrained.pt")
    torch.save(Backbone().state_dict(), path)

    model = load_frozen(path)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.05, momentum=0.9)
    loader = DataLoader(Birds(40), batch_size=13, shuffle=True)
    for epoch in range(args.epochs):
        model.eval()
        model.fc.train()
        correct = 0
        for images, species in loader:
            logits = model(images)
            loss = nn.functional.cross_entropy(logits, species)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (logits.argmax(1) == species).sum().item()
        print(f"epoch {epoch} accuracy {correct / len(loader.dataset):.3f}")


if __name__ == "__main__":
    main()
