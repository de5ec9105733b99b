import copy

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

NUM_CLIENTS = 3
ROUNDS = 5
LOCAL_EPOCHS = 3


class ChestImages(Dataset):
    """Small grey images, positive cases carry a bright blob."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.target = rng.integers(0, 2, size=n).astype(np.float32)
        self.data = rng.normal(0.3, 0.15, size=(n, 1, 32, 32)).astype(np.float32)
        for i in np.flatnonzero(self.target):
            r, c = rng.integers(4, 22, size=2)
            self.data[i, 0, r:r + 6, c:c + 6] += 0.5

    def __len__(self):
        return len(self.target)

    def __getitem__(self, i):
        return torch.from_numpy(self.data[i]), torch.tensor(self.target[i])


class DenseBlock(nn.Module):
    def __init__(self, in_ch, growth, layers):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(in_ch + k * growth),
                nn.ReLU(),
                nn.Conv2d(in_ch + k * growth, growth, 3, padding=1, bias=False),
            )
            for k in range(layers)
        )

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], dim=1)
        return x


class TinyDenseNet(nn.Module):
    def __init__(self, growth=8):
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, stride=2, padding=1)
        self.block1 = DenseBlock(16, growth, 3)
        self.down = nn.Sequential(nn.Conv2d(16 + 3 * growth, 24, 1), nn.AvgPool2d(2))
        self.block2 = DenseBlock(24, growth, 3)
        self.classifier = nn.Sequential(nn.Linear(24 + 3 * growth, 1), nn.Sigmoid())

    def forward(self, x):
        x = self.block2(self.down(self.block1(self.stem(x))))
        return self.classifier(x.mean(dim=(2, 3)))


class Client:
    def __init__(self, cid, dataset, criterion):
        self.cid = cid
        self.loader = DataLoader(dataset, batch_size=32, shuffle=True)
        self.criterion = criterion

    def update(self, global_model):
        model = copy.deepcopy(global_model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        model.train()
        for _ in range(LOCAL_EPOCHS):
            for data, target in self.loader:
                optimizer.zero_grad()
                output = model(data)
                loss = self.criterion(output, target.to(torch.float32).reshape(-1, 1))
                loss.backward()
                optimizer.step()
        return model.state_dict(), len(self.loader.dataset)


def average(updates):
    total = sum(n for _, n in updates)
    merged = copy.deepcopy(updates[0][0])
    for key in merged:
        if merged[key].is_floating_point():
            merged[key] = sum(state[key] * (n / total) for state, n in updates)
    return merged


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = 0
    for data, target in loader:
        hits += ((model(data).squeeze(1) > 0.5).float() == target).sum().item()
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(7)
    criterion = nn.BCELoss()
    clients = [Client(c, ChestImages(160, seed=c), criterion) for c in range(NUM_CLIENTS)]
    test_loader = DataLoader(ChestImages(200, seed=100), batch_size=64)
    global_model = TinyDenseNet()
    for rnd in range(ROUNDS):
        updates = [client.update(global_model) for client in clients]
        global_model.load_state_dict(average(updates))
        print(f"round {rnd + 1}: test accuracy {accuracy(global_model, test_loader):.3f}")


if __name__ == "__main__":
    main()
