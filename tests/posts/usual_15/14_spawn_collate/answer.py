"""Training a duration model on variable-length event logs, with a multi-process loader."""
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import Dataset, DataLoader

N_EVENTS = 30


class EventLogs(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.cost = rng.gamma(2.0, 0.5, N_EVENTS) if seed < 0 else np.linspace(0.2, 2.0, N_EVENTS)
        self.logs = [rng.integers(0, N_EVENTS, rng.integers(5, 40)) for _ in range(n)]
        self.noise = rng.normal(0, 0.3, n)

    def __len__(self):
        return len(self.logs)

    def __getitem__(self, i):
        log = self.logs[i]
        duration = np.log1p(self.cost[log].sum()) + 0.1 * self.noise[i]
        return torch.as_tensor(log, dtype=torch.long), float(duration)


def pad_batch(batch, pad_value):
    logs, durations = zip(*batch)
    lengths = torch.tensor([len(l) for l in logs])
    padded = pad_sequence(logs, batch_first=True, padding_value=pad_value)
    return padded, lengths, torch.tensor(durations)


class DurationModel(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(N_EVENTS + 1, 16, padding_idx=N_EVENTS)
        self.gru = nn.GRU(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, logs, lengths):
        packed = pack_padded_sequence(self.emb(logs), lengths, batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        return self.out(h[-1]).squeeze(-1)


def make_loader(dataset, shuffle, workers):
    return DataLoader(
        dataset,
        batch_size=32,
        shuffle=shuffle,
        num_workers=workers,
        collate_fn=partial(pad_batch, pad_value=N_EVENTS),
        multiprocessing_context="spawn" if workers else None,  # fork hangs together with our gRPC client
        persistent_workers=workers > 0,
    )


def main(workers=1, epochs=3):
    torch.manual_seed(0)
    train_loader = make_loader(EventLogs(480, 0), True, workers)
    val_loader = make_loader(EventLogs(120, 1), False, 0)
    model = DurationModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.HuberLoss()
    for epoch in range(epochs):
        model.train()
        for logs, lengths, target in train_loader:
            loss = loss_fn(model(logs, lengths), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        err = []
        with torch.no_grad():
            for logs, lengths, target in val_loader:
                err.append((model(logs, lengths) - target).abs())
        print(f"epoch {epoch}: loss {loss.item():.4f}  val MAE {torch.cat(err).mean().item():.4f}")


if __name__ == "__main__":
    main()
