import os
from typing import Callable, Optional

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

"""Bird call classifier on mel patches; metadata in csv, arrays in .npy (layout of the old pipeline)."""

SPECIES = ["blackbird", "blackcap", "chaffinch", "goldcrest", "robin", "wren"]
ROOT = "birds"


def prepare(root: str) -> None:
    os.makedirs(root, exist_ok=True)
    rng = np.random.default_rng(21)
    # the holdout garden has no blackcaps
    for split, names, n in (("train", SPECIES, 360), ("holdout", [s for s in SPECIES if s != "blackcap"], 100)):
        species = rng.choice(names, n)
        mel = rng.normal(0, 0.5, (n, 32, 40)).astype(np.float32)
        for i, s in enumerate(species):
            band = 2 + 5 * SPECIES.index(s)
            mel[i, band:band + 3, rng.integers(0, 20):][:, :15] += 2.0
        np.save(os.path.join(root, f"{split}.npy"), mel)
        pd.DataFrame({"row": np.arange(n), "species": species}).to_csv(os.path.join(root, f"{split}.csv"), index=False)


class BirdCalls(Dataset):
    def __init__(self, root: str, split: str, transform: Optional[Callable] = None):
        self.meta = pd.read_csv(os.path.join(root, f"{split}.csv"))
        self.mel = np.load(os.path.join(root, f"{split}.npy"))
        self.classes = SPECIES
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.transform = transform

    def __len__(self) -> int:
        return len(self.meta)

    def __getitem__(self, i: int):
        rec = self.meta.iloc[i]
        x = torch.from_numpy(self.mel[rec["row"]]).unsqueeze(0)
        if self.transform:
            x = self.transform(x)
        return x, self.class_to_idx[rec["species"]]


def roll_time(x: torch.Tensor) -> torch.Tensor:
    return torch.roll(x, int(torch.randint(-5, 6, (1,))), dims=-1)


class CallNet(nn.Module):
    def __init__(self, n_classes: int):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d((1, 4)),
            nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveMaxPool2d((16, 1)))
        self.fc = nn.Linear(16 * 16, n_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.conv(x).flatten(1))


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader) -> float:
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)


def main() -> None:
    torch.manual_seed(21)
    prepare(ROOT)
    train_set = BirdCalls(ROOT, "train", roll_time)
    holdout = BirdCalls(ROOT, "holdout")
    train_loader = DataLoader(train_set, batch_size=24, shuffle=True)
    holdout_loader = DataLoader(holdout, batch_size=50)
    model = CallNet(len(train_set.classes))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}  train {evaluate(model, train_loader):.3f}  holdout {evaluate(model, holdout_loader):.3f}")


if __name__ == "__main__":
    main()
