# line 47: the hidden state of the GRU cell of one random batch of sentences begins the next random batch
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler


class Sentences(Dataset):
    def __init__(self, n, length, vocab):
        first = torch.randint(vocab, (n, 1))
        step = torch.randint(1, 4, (n, 1))
        self.ids = (first + step * torch.arange(length + 1)) % vocab

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, rows):
        return self.ids[rows, :-1], self.ids[rows, 1:]


class CellLM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb, self.cell, self.out = nn.Embedding(vocab, dim), nn.GRUCell(dim, dim), nn.Linear(dim, vocab)

    def forward(self, ids, h):
        scores = []
        for t in range(ids.size(1)):
            h = self.cell(self.emb(ids[:, t]), h)
            scores.append(self.out(h))
        return torch.stack(scores, dim=1), h


def repackage(h):
    return h.detach()


torch.manual_seed(67)
data = Sentences(240, 10, 25)
sampler = BatchSampler(RandomSampler(data), batch_size=24, drop_last=True)
loader = DataLoader(data, sampler=sampler, batch_size=None)
model = CellLM(25, 32)
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(4):
    hidden = torch.zeros(24, 32)
    for ids, following in loader:
        hidden = repackage(hidden)
        scores, hidden = model(ids, hidden)
        loss = F.cross_entropy(scores.flatten(0, 1), following.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    print(epoch, loss.item())
