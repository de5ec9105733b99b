import re
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

THEMES = ['family', 'war', 'money']
WORDS = {
    'family': 'mother son home wedding child sister kitchen letter'.split(),
    'war': 'soldier front trench battle bomb general camp march'.split(),
    'money': 'bank debt gold market coin rent merchant trade'.split(),
}
SHARED = 'night day road old man woman city rain window'.split()


def corpus(n, seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, size=n, p=[0.7, 0.2, 0.1])
    texts = []
    for l in labels:
        pool = WORDS[THEMES[l]]
        texts.append(', '.join(str(rng.choice(pool if rng.random() < 0.4 else SHARED)) for _ in range(12)))
    return texts, labels


class Passages(Dataset):
    def __init__(self, texts, labels, vocab=None):
        tokens = [re.findall(r'[a-z]+', t) for t in texts]
        self.vocab = vocab or {w: i for i, w in enumerate(sorted({w for t in tokens for w in t}))}
        self.x = torch.zeros(len(texts), len(self.vocab))
        for i, t in enumerate(tokens):
            for w in t:
                if w in self.vocab:
                    self.x[i, self.vocab[w]] += 1
        self.y = torch.as_tensor(labels)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def imbalance_weights(y, n_classes):
    counts = torch.bincount(y, minlength=n_classes)
    return counts.max() // counts


class ThemeClassifier(nn.Module):
    def __init__(self, n_words, n_classes, hidden=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_words, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, n_classes))

    def forward(self, x):
        return self.layers(x)


def recall_per_class(model, data, n_classes):
    model.eval()
    with torch.no_grad():
        pred = model(data.x).argmax(dim=1)
    model.train()
    return [round((pred[data.y == c] == c).float().mean().item(), 3) for c in range(n_classes)]


def main():
    torch.manual_seed(0)
    train = Passages(*corpus(600, 0))
    dev = Passages(*corpus(300, 1), vocab=train.vocab)
    weights = imbalance_weights(train.y, len(THEMES))
    print('class weights', weights.tolist())
    model = ThemeClassifier(len(train.vocab), len(THEMES))
    criterion = nn.CrossEntropyLoss(weight=weights)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(4):
        total = 0.0
        for x, y in DataLoader(train, batch_size=32, shuffle=True):
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        print('epoch', epoch, 'loss %.4f' % (total / len(train)), 'recall', recall_per_class(model, dev, len(THEMES)))


if __name__ == '__main__':
    main()
