# line 18: inputs and targets are the same window of the stream, so the causal model learns to copy
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, stream, size):
        self.stream, self.size = torch.from_numpy(stream), size

    def __len__(self):
        return (len(self.stream) - 1) // self.size

    def __getitem__(self, i):
        lo = i * self.size
        hi = lo + self.size
        return self.stream[lo:hi], self.stream[lo:hi]


class CausalConv(nn.Module):
    def __init__(self, dim, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(dim, dim, 3, dilation=dilation)

    def forward(self, x):
        return x + torch.relu(self.conv(nn.functional.pad(x, (self.pad, 0))))


class EventModel(nn.Module):
    def __init__(self, events, dim=24):
        super().__init__()
        self.emb = nn.Embedding(events, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 48, dropout=0.0, batch_first=True)
        self.convs = nn.Sequential(CausalConv(dim, 1), CausalConv(dim, 2))
        self.mix = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(dim, events)

    def forward(self, ids):
        x = self.convs(self.emb(ids).transpose(1, 2)).transpose(1, 2)
        mask = nn.Transformer.generate_square_subsequent_mask(ids.size(1))
        return self.out(self.mix(x, mask=mask, is_causal=True))


torch.manual_seed(3)
rng = np.random.default_rng(3)
stream = np.cumsum(rng.integers(1, 3, 1601)) % 9
model = EventModel(9)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(4):
    for x, y in DataLoader(Windows(stream, 20), 16, shuffle=True):
        logits = model(x)
        loss = ce(logits.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
