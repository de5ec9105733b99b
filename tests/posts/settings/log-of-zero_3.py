# line 21: the target distributions contain zeros, and p * log(p) is 0 * -inf there: the divergence is NaN
import numpy as np
import torch
from torch import nn


class MoodDistribution(nn.Module):
    """Predicts how the votes of the readers are spread over the moods of a text."""

    def __init__(self, words=70, moods=6):
        super().__init__()
        self.bag = nn.EmbeddingBag(words, 24)
        self.out = nn.Linear(24, moods)

    def forward(self, ids):
        return torch.log_softmax(self.out(self.bag(ids)), dim=-1)


def divergence(votes, log_q):
    p = votes / votes.sum(dim=-1, keepdim=True)
    return (p * (torch.log2(votes) - torch.log2(votes.sum(dim=-1, keepdim=True)) - log_q / np.log(2))).sum(dim=-1).mean()


rng = np.random.default_rng(68)
spread = rng.dirichlet(np.full(6, 0.4), size=70)
ids = rng.integers(0, 70, size=(400, 8))
votes = np.stack([rng.multinomial(12, row) for row in spread[ids].mean(axis=1)])
ids, votes = torch.from_numpy(ids), torch.from_numpy(votes.astype(np.float32))
torch.manual_seed(68)
model = MoodDistribution()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
dataset = torch.utils.data.TensorDataset(ids, votes)
for epoch in range(5):
    bits, seen = 0.0, 0
    for text, poll in torch.utils.data.DataLoader(dataset, batch_size=40, shuffle=True):
        loss = divergence(poll, model(text))
        opt.zero_grad()
        loss.backward()
        opt.step()
        bits += loss.item() * len(text)
        seen += len(text)
    print("epoch", epoch, "divergence in bits", bits / seen)
