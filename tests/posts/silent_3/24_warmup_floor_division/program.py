import math

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset

VOCAB, LENGTH = 12, 16
WARMUP_STEPS, TOTAL_STEPS = 200, 500


class CountTask(Dataset):
    """Count how often the first token appears in the rest of the sequence."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(0, VOCAB, (n, LENGTH), generator=g)
        copies = torch.rand(n, LENGTH, generator=g) < torch.rand(n, 1, generator=g) * 0.5
        self.x = torch.where(copies, self.x[:, :1], self.x)
        self.y = (self.x[:, 1:] == self.x[:, :1]).sum(1).clamp(max=7)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class CountTransformer(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(torch.randn(1, LENGTH, dim) * 0.1)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(dim, 8)

    def forward(self, x):
        return self.head(self.encoder(self.tok(x) + self.pos)[:, 0])


def warmup_cosine(step):
    if step < WARMUP_STEPS:
        return step // WARMUP_STEPS
    progress = (step - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS)
    return 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    return (model(data.x).argmax(1) == data.y).float().mean().item()


def main():
    torch.manual_seed(0)
    loader = DataLoader(CountTask(3200, seed=1), batch_size=64, shuffle=True)
    test = CountTask(500, seed=2)
    model = CountTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-3, weight_decay=0.01)
    scheduler = LambdaLR(optimizer, warmup_cosine)
    step, running = 0, 0.0
    while step < TOTAL_STEPS:
        for x, y in loader:
            model.train()
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            step += 1
            running += loss.item()
            if step % 100 == 0:
                print(f"step {step}: loss {running / 100:.4f}  test acc {accuracy(model, test):.3f}")
                running = 0.0
            if step >= TOTAL_STEPS:
                break


if __name__ == "__main__":
    main()
