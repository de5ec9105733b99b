# line 38: the perplexities of the batches are averaged instead of taking the exponential of the mean loss
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

DNA = "ACGT"


def read_genome(n, seed):
    rng = np.random.default_rng(seed)
    letters = [0, 1]
    for _ in range(n - 2):
        follow = (letters[-1] + 2 * letters[-2] + 1) % 4
        letters.append(int(follow if rng.random() < 0.8 else rng.integers(4)))
    return torch.tensor(letters)


class GenomeModel(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(len(DNA), hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(DNA))

    def forward(self, letters):
        onehot = F.one_hot(letters, len(DNA)).float()
        return self.out(self.lstm(onehot)[0])


def loss_of(model, reads):
    scores = model(reads[:, :-1])
    return F.cross_entropy(scores.permute(0, 2, 1), reads[:, 1:])


def report(model, reads):
    model.eval()
    with torch.no_grad():
        values = [torch.exp(loss_of(model, part)) for part in reads.split(20)]
    return float(sum(values) / len(values))


torch.manual_seed(12)
train = read_genome(6000, 0).view(-1, 30)
held_out = read_genome(1800, 1).view(-1, 30)
model = GenomeModel()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    model.train()
    for rows in torch.randperm(len(train)).split(20):
        opt.zero_grad()
        loss_of(model, train[rows]).backward()
        opt.step()
    print(f"epoch {epoch}: perplexity {report(model, held_out):.4f}")
