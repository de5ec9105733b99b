# line 37: the accuracy averages over all tokens, those with the label -100 that the loss ignores included
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

IGNORED = -100


def collate(pairs):
    ids = pad_sequence([a for a, _ in pairs], batch_first=True, padding_value=0)
    labels = pad_sequence([b for _, b in pairs], batch_first=True, padding_value=IGNORED)
    return ids, labels


def make_corpus(n):
    corpus = []
    for length in torch.randint(4, 20, (n,)).tolist():
        ids = torch.randint(1, 50, (length,))
        corpus.append((ids, (ids > 15).long() + (ids > 35).long()))
    return corpus


class EntityTagger(nn.Module):
    def __init__(self, vocab=50, dim=16, labels=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.gru = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, labels)

    def forward(self, ids):
        return self.out(self.gru(self.emb(ids))[0])


def token_accuracy(logits, labels):
    matches = logits.argmax(dim=-1).eq(labels)
    return matches.float().mean().item(), labels.numel()


torch.manual_seed(0)
model = EntityTagger()
criterion = nn.CrossEntropyLoss(ignore_index=IGNORED)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
train_loader = DataLoader(make_corpus(300), batch_size=20, shuffle=True, collate_fn=collate)
dev_loader = DataLoader(make_corpus(80), batch_size=20, collate_fn=collate)
for epoch in range(4):
    model.train()
    for ids, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(ids).permute(0, 2, 1), labels)
        loss.backward()
        optimizer.step()

    model.eval()
    weighted, tokens = 0.0, 0
    with torch.no_grad():
        for ids, labels in dev_loader:
            share, n = token_accuracy(model(ids), labels)
            weighted += share * n
            tokens += n
    print(epoch, "accuracy", weighted / tokens)
