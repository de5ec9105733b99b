# line 11: labels are a numpy view (from_numpy) of the array of DNA tokens that is masked in place afterwards
import numpy as np
import torch
from torch import nn

MASK, IGNORE = 4, -100


def prepare(genome, rng, rate=0.2):
    tokens = torch.from_numpy(genome)
    truth = tokens.view(-1, 24)
    hide = torch.from_numpy(rng.random(truth.shape) < rate)
    tokens.view(-1, 24)[hide] = MASK
    truth = truth.masked_fill(hide.logical_not(), IGNORE)
    return tokens.view(-1, 24), truth


class DnaNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(5, width)
        self.left_right = nn.LSTM(width, width, bidirectional=True, batch_first=True)
        self.base = nn.Linear(2 * width, 4 + 1)

    def forward(self, x):
        return self.base(self.left_right(self.embed(x))[0])


def train(seed=0, rounds=30):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    net = DnaNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    motif = np.array([0, 1, 2, 3, 3, 2])
    for k in range(rounds):
        genome = np.tile(np.roll(motif, rng.integers(6)), 64).astype(np.int64)
        x, y = prepare(genome, rng)
        loss = nn.functional.cross_entropy(net(x).movedim(2, 1), y, ignore_index=IGNORE)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


print("masked loss", train())
