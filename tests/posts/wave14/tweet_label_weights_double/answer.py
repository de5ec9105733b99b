import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

GOOD = 'love great happy nice win best thanks sunny'.split()
BAD = 'hate awful sad broken lost worst angry rain'.split()
PLAIN = 'today the bus with my phone a new at home for lunch'.split()


def tweets(n, seed):
    rng = np.random.default_rng(seed)
    sentiment = rng.choice([0, 1, 2], size=n, p=[0.15, 0.65, 0.2])
    text = []
    for s in sentiment:
        own = [BAD, PLAIN, GOOD][s]
        text.append(' '.join(rng.choice(own if rng.random() < 0.6 else PLAIN) for _ in range(rng.integers(5, 12))))
    return pd.DataFrame({'text': text, 'label': sentiment})


class Vocab:
    def __init__(self, texts):
        words = sorted({w for t in texts for w in t.split()})
        self.index = {w: i + 2 for i, w in enumerate(words)}

    def __len__(self):
        return len(self.index) + 2

    def encode(self, texts, length=12):
        out = np.zeros((len(texts), length), dtype=np.int64)
        for i, t in enumerate(texts):
            ids = [self.index.get(w, 1) for w in t.split()][:length]
            out[i, :len(ids)] = ids
        return torch.from_numpy(out)


class SentimentCNN(nn.Module):
    def __init__(self, vocab_size, dim=32, n_label=3):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, 24, k, padding=k // 2) for k in (1, 3, 5)])
        self.dropout = nn.Dropout(0.2)
        self.final = nn.Linear(72, n_label)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        x = torch.cat([torch.relu(c(x)).max(dim=2).values for c in self.convs], dim=1)
        return self.final(self.dropout(x))


def validation(model, ids, labels, cn_loss):
    model.eval()
    with torch.no_grad():
        logits = model(ids)
        loss = cn_loss(logits, labels).item()
        acc = (logits.argmax(1) == labels).float().mean().item()
    model.train()
    return loss, acc


torch.manual_seed(3)
df_train, df_val = tweets(600, 1), tweets(200, 2)
vocab = Vocab(df_train['text'])
train_label = df_train['label'].value_counts().sort_index()
label_weight = (len(df_train) / (3 * train_label)).to_numpy()
train_label_weight = torch.tensor(label_weight, dtype=torch.float)
print('label weights', label_weight.round(3))

model = SentimentCNN(len(vocab))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
cn_loss = nn.CrossEntropyLoss(weight=train_label_weight, reduction='mean')
loader = DataLoader(TensorDataset(vocab.encode(df_train['text']), torch.from_numpy(df_train['label'].to_numpy())),
                    batch_size=32, shuffle=True)
val_ids, val_labels = vocab.encode(df_val['text']), torch.from_numpy(df_val['label'].to_numpy())

for epoch in range(4):
    for ids, labels in loader:
        optimizer.zero_grad()
        loss = cn_loss(model(ids), labels)
        loss.backward()
        optimizer.step()
    print('epoch %d: validation loss %.4f, accuracy %.3f' % ((epoch,) + validation(model, val_ids, val_labels, cn_loss)))
