# line 11: masked_fill without _: the positions that are not hidden are not set to the ignored label
import torch
from torch import nn
import torch.nn.functional as F


def span_corrupt(ids, rate, mask_id, gen):
    hidden = torch.rand(ids.shape, generator=gen) < rate
    inputs = torch.where(hidden, torch.full_like(ids, mask_id), ids)
    labels = ids.clone()
    labels.masked_fill(~hidden, -100)
    return inputs, labels


class ProteinMLM(nn.Module):
    def __init__(self, n_tokens=22, d=24):
        super().__init__()
        self.emb = nn.Embedding(n_tokens, d)
        self.mix = nn.Sequential(nn.Conv1d(d, d, 5, padding=2), nn.ReLU(), nn.Conv1d(d, d, 5, padding=2), nn.ReLU())
        self.out = nn.Linear(d, n_tokens)

    def forward(self, ids):
        return self.out(self.mix(self.emb(ids).mT).mT)


def proteins(n, length, gen):
    start = torch.randint(20, (n, 1), generator=gen)
    stride = torch.randint(1, 4, (n, 1), generator=gen)
    return (start + stride * torch.arange(length)) % 20


def train(model, data, gen, epochs=3, size=16, mask_id=21):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        model.train()
        running, count = 0.0, 0
        for rows in torch.randperm(len(data), generator=gen).split(size):
            x, y = span_corrupt(data[rows], 0.2, mask_id, gen)
            loss = F.cross_entropy(model(x).permute(0, 2, 1), y, ignore_index=-100)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running, count = running + loss.item(), count + 1
        print(f"epoch {epoch}: {running / count:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(5)
    train(ProteinMLM(), proteins(160, 30, g), g)
