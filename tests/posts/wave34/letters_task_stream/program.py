import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class LetterFiles:
    """Letters stored as .npz, classes as numbered in the archive (a=1 ... z=26)."""

    def __init__(self, root, per_class=8):
        self.path = os.path.join(root, "letters.npz")
        rng = np.random.default_rng(0)
        proto = rng.random((26, 14, 14))
        y = np.repeat(np.arange(1, 27), per_class)
        x = np.clip(proto[y - 1] + 0.1 * rng.standard_normal((len(y), 14, 14)), 0, 1)
        np.savez(self.path, x=(x * 255).astype(np.uint8), y=y)

    def load(self):
        blob = np.load(self.path)
        return blob["x"], blob["y"].astype(np.int64)


class TorchStyleDataset:
    """Gives a whole dataset as arrays (x, y, t) to a scenario."""

    def __init__(self, source):
        self.source = source

    def get_data(self):
        x, y = self.source.load()
        return x, y, None

    @property
    def nb_classes(self):
        return len(np.unique(self.get_data()[1]))


class TaskSet(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        img = torch.from_numpy(self.x[i]).float().div(255).unsqueeze(0)
        return img, int(self.y[i])


class ClassIncremental:
    def __init__(self, dataset, increment):
        self.x, self.y, _ = dataset.get_data()
        order = np.sort(np.unique(self.y))
        self.groups = [order[i:i + increment] for i in range(0, len(order), increment)]

    def __len__(self):
        return len(self.groups)

    def __iter__(self):
        for group in self.groups:
            pick = np.isin(self.y, group)
            yield TaskSet(self.x[pick], self.y[pick])


class ConvNet(nn.Module):
    def __init__(self, nb_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.classifier = nn.Linear(128, nb_classes)

    def forward(self, x):
        return self.classifier(self.features(x))


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as root:
        dataset = TorchStyleDataset(LetterFiles(root))
        scenario = ClassIncremental(dataset, increment=13)
        model = ConvNet(dataset.nb_classes)
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

        for task_id, taskset in enumerate(scenario):
            loader = DataLoader(taskset, batch_size=26, shuffle=True)
            for epoch in range(3):
                for x, y in loader:
                    loss = criterion(model(x), y)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            print(f"task {task_id}: {len(taskset)} images, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
