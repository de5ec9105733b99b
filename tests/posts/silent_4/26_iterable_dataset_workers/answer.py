import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class SensorStream(IterableDataset):
    def __init__(self, num_rows, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.rows = rng.normal(size=(num_rows, 7)).astype(np.float32)

    def __iter__(self):
        info = get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(start, len(self.rows), step):
            row = self.rows[i]
            features = torch.from_numpy(row[:6].copy())
            target = torch.tensor([row[:6].sum() + 0.1 * row[6]])
            yield features, target


def main():
    torch.manual_seed(26)
    train_loader = DataLoader(SensorStream(960, seed=0), batch_size=32, num_workers=2)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.MSELoss()

    for epoch in range(3):
        model.train()
        seen, total = 0, 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            seen += len(x)
            total += loss.item() * len(x)
        print(f"epoch {epoch}: {seen} samples, loss {total / seen:.4f}")


if __name__ == "__main__":
    main()
