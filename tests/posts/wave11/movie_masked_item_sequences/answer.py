import random
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

random.seed(0)
torch.manual_seed(0)


def read_ratings(n_users=120, n_movies=40):
    """rows of (user, movie, time): everybody goes on from one movie to one of the next three"""
    rows = []
    for u in range(n_users):
        movie = random.randrange(n_movies)
        for t in range(random.randint(6, 18)):
            rows.append((f'user{u}', f'movie{movie}', t))
            movie = (movie + random.randint(1, 3)) % n_movies
    return rows


def densify_index(rows):
    print('Densifying index')
    umap = {u: i for i, u in enumerate(sorted({r[0] for r in rows}), start=1)}
    smap = {s: i for i, s in enumerate(sorted({r[1] for r in rows}), start=1)}
    rows = [(umap[u], smap[s], t) for u, s, t in rows]
    return rows, umap, smap


class BertTrainDataset(Dataset):
    def __init__(self, u2seq, max_len, mask_prob, mask_token, num_items):
        self.u2seq = u2seq
        self.users = sorted(u2seq)
        self.max_len = max_len
        self.mask_prob = mask_prob
        self.mask_token = mask_token
        self.num_items = num_items

    def __len__(self):
        return len(self.users)

    def __getitem__(self, index):
        seq = self.u2seq[self.users[index]]
        tokens, labels = [], []
        for s in seq:
            prob = random.random()
            if prob < self.mask_prob:
                prob /= self.mask_prob
                if prob < 0.8:
                    tokens.append(self.mask_token)
                elif prob < 0.9:
                    tokens.append(random.randint(1, self.num_items))
                else:
                    tokens.append(s)
                labels.append(s)
            else:
                tokens.append(s)
                labels.append(0)

        tokens = tokens[-self.max_len:]
        labels = labels[-self.max_len:]
        mask_len = self.max_len - len(tokens)
        tokens = [0] * mask_len + tokens
        labels = [0] * mask_len + labels
        return torch.LongTensor(tokens), torch.LongTensor(labels)


class BERTModel(nn.Module):
    def __init__(self, num_items, max_len, hidden=48, heads=2, n_layers=2):
        super().__init__()
        self.token = nn.Embedding(num_items + 2, hidden, padding_idx=0)
        self.position = nn.Embedding(max_len, hidden)
        layer = nn.TransformerEncoderLayer(hidden, heads, hidden * 2, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.out = nn.Linear(hidden, num_items + 1)

    def forward(self, x):
        h = self.token(x) + self.position.weight
        h = self.encoder(h, src_key_padding_mask=x == 0)
        return self.out(h)


rows, umap, smap = densify_index(read_ratings())
u2seq = {}
for u, s, t in sorted(rows, key=lambda r: (r[0], r[2])):
    u2seq.setdefault(u, []).append(s)
num_items, max_len = len(smap), 16
CLOZE_MASK_TOKEN = num_items + 1

dataset = BertTrainDataset(u2seq, max_len, mask_prob=0.3, mask_token=CLOZE_MASK_TOKEN, num_items=num_items)
loader = DataLoader(dataset, batch_size=32, shuffle=True)
model = BERTModel(num_items, max_len)
ce = nn.CrossEntropyLoss(ignore_index=0)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    total = 0
    for seqs, labels in loader:
        logits = model(seqs)
        loss = ce(logits.view(-1, logits.size(-1)), labels.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f'Epoch {epoch + 1}, loss {total / len(loader):.3f}')
