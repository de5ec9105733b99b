# line 37: star ratings from 1 to 5 are used as targets for five outputs; mended by: subtracting one from the ratings
import random

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

POS = "great lovely tasty friendly perfect".split()
NEG = "cold rude slow bland awful".split()
NEUTRAL = "the food service was place and we had dinner".split()


class ReviewDataset(Dataset):
    """Bag of words and the number of stars."""

    def __init__(self, n=200, seed=13):
        rnd = random.Random(seed)
        self.words = {w: i for i, w in enumerate(POS + NEG + NEUTRAL)}
        self.rows = []
        for _ in range(n):
            stars = rnd.randint(1, 5)
            text = rnd.choices(NEUTRAL, k=6)
            text += rnd.choices(POS, k=stars) + rnd.choices(NEG, k=5 - stars)
            self.rows.append((" ".join(text), stars))

    def vectorize(self, text):
        v = torch.zeros(len(self.words))
        for w in text.split():
            v[self.words[w]] += 1
        return v

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, stars = self.rows[i]
        return self.vectorize(text), stars


class BowClassifier(nn.Module):
    def __init__(self, n_words, n_out=5):
        super().__init__()
        self.lin1 = nn.Linear(n_words, 16)
        self.lin2 = nn.Linear(16, n_out)

    def forward(self, bow):
        return torch.log_softmax(self.lin2(torch.tanh(self.lin1(bow))), dim=1)


dataset = ReviewDataset()
train_set, val_set = torch.utils.data.random_split(dataset, [160, 40])
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
val_loader = DataLoader(val_set, batch_size=40)
model = BowClassifier(len(dataset.words))
nll = nn.NLLLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for bow, y in train_loader:
        model.zero_grad()
        loss = nll(model(bow), y)
        loss.backward()
        opt.step()
    with torch.no_grad():
        bow, y = next(iter(val_loader))
        acc = (model(bow).argmax(1) == y).float().mean().item()
    print("epoch %d val acc %.2f" % (epoch, acc))
