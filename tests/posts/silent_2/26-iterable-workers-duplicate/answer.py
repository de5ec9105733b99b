import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class ShardedLogs(IterableDataset):
    """Reads the shards one after another and yields (features, clicked)."""

    def __init__(self, num_shards, rows_per_shard, dim=10):
        super().__init__()
        self.num_shards = num_shards
        self.rows_per_shard = rows_per_shard
        self.dim = dim

    def read_shard(self, index):
        gen = torch.Generator().manual_seed(index)
        x = torch.randn(self.rows_per_shard, self.dim, generator=gen)
        y = (x[:, 0] - x[:, 1] > 0).float()
        return zip(x, y)

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for index in range(first, self.num_shards, step):
            yield from self.read_shard(index)


class LogisticMLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_data = ShardedLogs(num_shards=6, rows_per_shard=100)
    train_loader = DataLoader(train_data, batch_size=50, num_workers=2)
    model = LogisticMLP(train_data.dim).to(device)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    for epoch in range(2):
        model.train()
        seen, clicks, loss_sum = 0, 0.0, 0.0
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            seen += y.numel()
            clicks += y.sum().item()
            loss_sum += loss.item() * y.numel()
        print(f"epoch {epoch}: {seen} samples, {int(clicks)} clicks, loss {loss_sum / seen:.4f}")


if __name__ == "__main__":
    main()
