# line 15: the first sorted score of each token, not its class, is compared with the tags
import torch
from torch import nn


class TokenAccuracy:
    def __init__(self, ignore):
        self.ignore = ignore
        self.reset()

    def reset(self):
        self.right = self.seen = 0

    def update(self, scores, tags):
        best = torch.sort(scores, dim=-1, descending=True)[1][..., 0]
        counted = tags != self.ignore
        self.right += ((best == tags) & counted).sum().item()
        self.seen += counted.sum().item()

    def compute(self):
        return self.right / max(self.seen, 1)


class ConvTagger(nn.Module):
    def __init__(self, vocab=40, tags=5, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.out = nn.Linear(dim, tags)

    def forward(self, ids):
        h = torch.relu(self.conv(self.emb(ids).transpose(1, 2)))
        return self.out(h.transpose(1, 2))


def tagged_sentences(n, length=15):
    ids = torch.randint(1, 40, (n, length))
    tags = (ids + torch.roll(ids, 1, dims=1)) // 20 + 1
    for row, end in enumerate(torch.randint(5, length + 1, (n,)).tolist()):
        ids[row, end:] = 0
        tags[row, end:] = -100
    return ids, tags


torch.manual_seed(0)
tagger, metric = ConvTagger(), TokenAccuracy(ignore=-100)
objective = nn.CrossEntropyLoss(ignore_index=-100)
optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)
ids, tags = tagged_sentences(400)
for epoch in range(5):
    tagger.train()
    for rows in torch.randperm(400).split(40):
        optimizer.zero_grad()
        objective(tagger(ids[rows]).flatten(0, 1), tags[rows].flatten()).backward()
        optimizer.step()

    tagger.eval()
    metric.reset()
    test_ids, test_tags = tagged_sentences(100)
    with torch.no_grad():
        for a, b in zip(test_ids.split(25), test_tags.split(25)):
            metric.update(tagger(a), b)
    print(epoch, "token accuracy", metric.compute())
