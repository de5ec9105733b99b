import itertools
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

path = os.path.join(tempfile.mkdtemp(), "events.log")
with open(path, "w") as f:
    for i in range(150):
        hour, status, size = i % 24, 200 + 100 * (i % 4 == 0), (i * 37) % 500
        f.write(f"{hour} {status} {size}\n")


class LogLines(IterableDataset):
    def __init__(self, path, skip_errors=True):
        self.path, self.skip_errors = path, skip_errors

    def parse(self, line):
        hour, status, size = map(int, line.split())
        if self.skip_errors and status != 200:
            return None
        return torch.tensor([hour / 24.0, 1.0]), torch.tensor([size / 500.0])

    def __iter__(self):
        info = get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        with open(self.path) as f:
            for line in itertools.islice(f, start, None, step):
                item = self.parse(line)
                if item is not None:
                    yield item


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)

for epoch in range(2):
    for workers in (0, 1):
        loader = DataLoader(LogLines(path), batch_size=16, num_workers=workers)
        total, batches = 0.0, 0
        for x, y in loader:
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            batches += 1
        print(f"epoch {epoch}, {workers} workers: {batches} batches, loss {total / batches:.4f}")
    scheduler.step()
