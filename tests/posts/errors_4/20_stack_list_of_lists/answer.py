import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from torch.nn.utils.rnn import pad_sequence

SENTENCES = [
    ("the service was slow", 0), ("lovely food and friendly people", 1),
    ("never again", 0), ("great", 1), ("cold soup and rude waiter", 0),
    ("we will come back soon", 1), ("overpriced", 0), ("best pizza in town", 1),
]
vocab = {"<pad>": 0}
for s, _ in SENTENCES:
    for w in s.split():
        vocab.setdefault(w, len(vocab))


class Reviews(Dataset):
    def __len__(self):
        return len(SENTENCES)

    def __getitem__(self, i):
        text, label = SENTENCES[i]
        return [vocab[w] for w in text.split()], label


def collate(batch):
    ids, labels = zip(*batch)
    ids = pad_sequence([torch.tensor(s) for s in ids], batch_first=True, padding_value=0)
    return ids, torch.tensor(labels)


emb = nn.Embedding(len(vocab), 16, padding_idx=0)
head = nn.Linear(16, 2)
opt = torch.optim.Adam([*emb.parameters(), *head.parameters()], lr=0.05)
for epoch in range(5):
    for ids, y in DataLoader(Reviews(), batch_size=4, shuffle=True, collate_fn=collate):
        h = emb(ids).sum(1) / (ids > 0).sum(1, keepdim=True)
        loss = nn.functional.cross_entropy(head(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", loss.item())
