import argparse
import os
import random
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


def write_files(root, counts=(60, 20, 6)):
    rng = np.random.default_rng(0)
    for label, count in enumerate(counts):
        for i in range(count):
            wave = np.sin(np.arange(200) * (label + 1) / 10) + rng.normal(0, 0.2, 200)
            np.savez(os.path.join(root, f"{label}_{i}.npz"), wave=wave, label=label)


class Vibrations(Dataset):
    def __init__(self, root, length=128):
        self.files = sorted(os.path.join(root, f) for f in os.listdir(root))
        self.labels = [int(os.path.basename(f).split("_")[0]) for f in self.files]
        self.length = length

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as data:
            wave, label = data["wave"], int(data["label"])
        start = random.randrange(len(wave) - self.length)
        return torch.as_tensor(wave[start:start + self.length], dtype=torch.float32)[None], label


def seed_worker(worker_id):
    seed = torch.initial_seed() % 2 ** 32
    random.seed(seed)
    np.random.seed(seed)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 8, 9, stride=4), nn.ReLU(), nn.Conv1d(8, 16, 5, stride=2), nn.ReLU())
        self.fc = nn.LazyLinear(3)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(0)
    root = tempfile.mkdtemp()
    write_files(root)
    data = Vibrations(root)
    counts = np.bincount(data.labels)
    weights = [1.0 / counts[label] for label in data.labels]
    generator = torch.Generator()
    generator.manual_seed(1)
    sampler = WeightedRandomSampler(weights, num_samples=len(data), replacement=True, generator=generator)
    loader = DataLoader(data, batch_size=16, sampler=sampler, num_workers=args.workers,
                        worker_init_fn=seed_worker, generator=generator, persistent_workers=args.workers > 0)
    model = Net()
    model(torch.zeros(1, 1, 128))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        seen = torch.zeros(3, dtype=torch.long)
        for wave, label in loader:
            loss = nn.functional.cross_entropy(model(wave), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += torch.bincount(label, minlength=3)
        print(f"epoch {epoch} loss {loss.item():.3f} drawn {seen.tolist()}")


if __name__ == "__main__":
    main()
