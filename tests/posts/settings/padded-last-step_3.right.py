# line 20: the last position of the padded click streams is read as the state of the visit, though the encoder masks the padding
import numpy as np
import torch
from torch import nn


class VisitModel(nn.Module):
    def __init__(self, pages=40, width=32, longest=18):
        super().__init__()
        self.page = nn.Embedding(pages + 1, width, padding_idx=0)
        self.place = nn.Embedding(longest, width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.buy = nn.Linear(width, 1)

    def forward(self, visit):
        x = self.page(visit) + self.place.weight[: visit.size(1)]
        mixed, _ = self.attention(x, x, x, key_padding_mask=visit.eq(0), need_weights=False)
        states = self.norm(x + mixed)
        last = states[torch.arange(len(visit)), visit.ne(0).sum(1) - 1]
        return self.buy(last).squeeze(-1)


def visits(n, rng):
    lengths = rng.integers(3, 19, n)
    padded = np.zeros((n, lengths.max()), dtype=np.int64)
    bought = np.zeros(n, dtype=np.float32)
    for i, length in enumerate(lengths):
        padded[i, :length] = rng.integers(1, 41, length)
        bought[i] = padded[i, length - 1] > 20
    return torch.from_numpy(padded), torch.from_numpy(bought)


rng = np.random.default_rng(90)
torch.manual_seed(90)
model = VisitModel()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(80):
    visit, bought = visits(32, rng)
    loss = nn.functional.binary_cross_entropy_with_logits(model(visit), bought)
    opt.zero_grad()
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    visit, bought = visits(200, rng)
    print("accuracy", ((model(visit) > 0) == bought.bool()).float().mean().item())
