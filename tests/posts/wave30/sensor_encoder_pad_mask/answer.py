import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class StepRecordings(Dataset):
    """Recordings of 3 accelerometer axes with different lengths, three activities."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.samples = []
        for _ in range(n):
            label = int(rng.integers(3))
            length = int(rng.integers(8, 41))
            t = np.arange(length)[:, None]
            wave = np.sin(t * (0.3 + 0.25 * label) + rng.uniform(0, 6, size=(1, 3)))
            self.samples.append((torch.tensor(wave + 0.3 * rng.normal(size=(length, 3)), dtype=torch.float32), label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


def collate(batch):
    longest = max(len(x) for x, _ in batch)
    xs = torch.zeros(len(batch), longest, 3)
    pad_mask = torch.zeros(len(batch), longest, dtype=torch.bool)
    for i, (x, _) in enumerate(batch):
        xs[i, :len(x)] = x
        pad_mask[i, len(x):] = 1
    return xs, pad_mask, torch.tensor([y for _, y in batch])


class ActivityEncoder(nn.Module):
    def __init__(self, d_model=32, nhead=4, layers=2, classes=3, max_len=64):
        super().__init__()
        self.embed = nn.Conv1d(3, d_model, 5, padding=2)
        self.pos = nn.Parameter(torch.randn(1, max_len, d_model) * 0.02)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model))
        layer = nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward=64, dropout=0.1,
                                           activation=nn.functional.silu, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(d_model, classes)

    def forward(self, x, pad_mask):
        h = torch.relu(self.embed(x.transpose(1, 2))).transpose(1, 2) + self.pos[:, :x.size(1)]
        h = torch.cat([self.cls.expand(len(x), -1, -1), h], dim=1)
        pad_mask = nn.functional.pad(pad_mask, (1, 0))
        h = self.encoder(h, src_key_padding_mask=pad_mask)
        return self.head(h[:, 0])


torch.manual_seed(5)
train_loader = DataLoader(StepRecordings(320, 0), batch_size=32, shuffle=True, collate_fn=collate)
test_set = StepRecordings(120, 1)

model = ActivityEncoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(12):
    model.train()
    running = 0.0
    for x, pad_mask, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x, pad_mask), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: loss {running / len(train_loader):.3f}")

model.eval()
with torch.no_grad():
    x, pad_mask, y = collate([test_set[i] for i in range(len(test_set))])
    batched = model(x, pad_mask)
    alone = torch.cat([model(*collate([test_set[i]])[:2]) for i in range(len(test_set))])
print("accuracy in one batch ", (batched.argmax(1) == y).float().mean().item())
print("accuracy one by one   ", (alone.argmax(1) == y).float().mean().item())
print("largest logit difference", (batched - alone).abs().max().item())
