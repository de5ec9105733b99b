from collections import Counter
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

TOPICS = {
    'science': ['atom', 'energy', 'cell', 'protein', 'orbit', 'planet', 'laser', 'quark'],
    'sport': ['goal', 'match', 'season', 'coach', 'league', 'sprint', 'medal', 'race'],
    'economy': ['market', 'price', 'bank', 'trade', 'export', 'tax', 'budget', 'loan'],
}
COMMON = ['the', 'a', 'of', 'new', 'after', 'with', 'report', 'today']


def make_documents(n, seed=12):
    rng = np.random.default_rng(seed)
    names = list(TOPICS)
    docs, labels = [], []
    for _ in range(n):
        picked = rng.choice(3, size=rng.integers(1, 3), replace=False)
        words = []
        for _ in range(rng.integers(6, 14)):
            source = TOPICS[names[rng.choice(picked)]] if rng.random() < 0.6 else COMMON
            words.append(str(rng.choice(source)))
        docs.append(words)
        labels.append(np.isin(np.arange(3), picked).astype('float32'))
    return docs, np.stack(labels)


def create_vocab(docs):
    counts = Counter(w for d in docs for w in d)
    vocab = ['<PAD>'] + sorted(counts, key=counts.get, reverse=True)
    vocab_to_int = {word: ii for ii, word in enumerate(vocab)}
    return vocab, vocab_to_int


def pad(docs, vocab_to_int, pad_len):
    out = np.full((len(docs), pad_len), vocab_to_int['<PAD>'], dtype=np.int64)
    for i, d in enumerate(docs):
        ids = [vocab_to_int[w] for w in d[:pad_len]]
        out[i, :len(ids)] = ids
    return out


class HARNN(nn.Module):
    """BiLSTM, attention for each level, one output per level"""

    def __init__(self, vocab_size, level_sizes, embed_dim=32, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.lstm = nn.LSTM(embed_dim, hidden, batch_first=True, bidirectional=True)
        self.attn = nn.ModuleList([nn.Linear(2 * hidden, n) for n in level_sizes])
        self.local = nn.ModuleList([nn.Linear(2 * hidden, n) for n in level_sizes])

    def forward(self, x):
        h, _ = self.lstm(self.embedding(x))
        scores = []
        for attn, local in zip(self.attn, self.local):
            w = torch.softmax(attn(h).transpose(1, 2), dim=-1)
            scores.append(local((w @ h).mean(dim=1)))
        return scores


def main():
    torch.manual_seed(0)
    docs, labels = make_documents(400)
    vocab, vocab_to_int = create_vocab(docs)
    x = torch.from_numpy(pad(docs, vocab_to_int, pad_len=14))
    y = torch.from_numpy(labels)
    coarse = y[:, 2:3]
    loader = DataLoader(TensorDataset(x, coarse, y), batch_size=32, shuffle=True)
    net = HARNN(len(vocab), level_sizes=[1, 3])
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    loss_fn = nn.BCEWithLogitsLoss()
    for epoch in range(4):
        total = 0.0
        for xb, y1, y2 in loader:
            first, second = net(xb)
            loss = loss_fn(first, y1) + loss_fn(second, y2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print('epoch %d: train loss %.4f' % (epoch + 1, total / len(loader)))


if __name__ == '__main__':
    main()
