from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Options:
    rides: int = 150
    batch_size: int = 25
    epochs: int = 3
    lr: float = 1e-2
    delta: float = 1.0


class Rides(Dataset):
    def __init__(self, count: int, seed: int):
        rng = np.random.default_rng(seed)
        self.pickup = rng.uniform(-1, 1, (count, 2)).astype(np.float32)
        self.dropoff = rng.uniform(-1, 1, (count, 2)).astype(np.float32)
        self.hour = rng.integers(0, 24, count)
        distance = np.abs(self.pickup - self.dropoff).sum(1)
        self.fare = ((distance - distance.mean()) / distance.std()).astype(np.float32)

    def __len__(self) -> int:
        return len(self.fare)

    def __getitem__(self, i: int):
        where = np.concatenate([self.pickup[i], self.dropoff[i]])
        return torch.from_numpy(where), int(self.hour[i]), self.fare[i]


class FareModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hours = nn.Embedding(24, 4)
        self.net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, where: torch.Tensor, hour: torch.Tensor) -> torch.Tensor:
        return self.net(torch.cat([where, self.hours(hour)], dim=-1))


def smooth_error(prediction, target, delta):
    error = (prediction - target).abs()
    quadratic = error.clamp(max=delta)
    return (0.5 * quadratic ** 2 + delta * (error - quadratic)).mean()


def main() -> None:
    options = Options()
    torch.manual_seed(0)
    loader = DataLoader(Rides(options.rides, 0), options.batch_size, shuffle=True)
    model = FareModel()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=options.lr)
    for epoch in range(options.epochs):
        seen, total = 0, 0.0
        for where, hour, fare in loader:
            prediction = model(where, hour)
            loss = smooth_error(prediction, fare, options.delta)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += len(fare)
            total += loss.item() * len(fare)
        print(f"epoch {epoch} huber {total / seen:.4f}")


if __name__ == "__main__":
    main()
