import math
import random
from collections import deque

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler


class Reviews(Dataset):
    good = list(range(5, 15))
    bad = list(range(15, 25))

    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.items = []
        for _ in range(n):
            stars = rnd.randint(1, 5)
            words = []
            for _ in range(rnd.randint(3, 30)):
                r = rnd.random()
                if r < 0.5:
                    words.append(rnd.randint(25, 60))
                else:
                    words.append(rnd.choice(self.good if rnd.random() < stars / 6 else self.bad))
            self.items.append((torch.tensor(words), float(stars)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class BucketSampler(Sampler):
    def __init__(self, lengths, batch_size, shuffle=True, pool=8):
        self.lengths, self.batch_size, self.shuffle, self.pool = lengths, batch_size, shuffle, pool

    def __iter__(self):
        order = list(range(len(self.lengths)))
        if self.shuffle:
            random.shuffle(order)
        chunk = self.batch_size * self.pool
        batches = []
        for i in range(0, len(order), chunk):
            part = sorted(order[i:i + chunk], key=self.lengths.__getitem__)
            batches += [part[j:j + self.batch_size] for j in range(0, len(part), self.batch_size)]
        if self.shuffle:
            random.shuffle(batches)
        return iter(batches)

    def __len__(self):
        full, rest = divmod(len(self.lengths), self.batch_size * self.pool)
        return full * self.pool + math.ceil(rest / self.batch_size)


def collate(items):
    words, stars = zip(*items)
    return pad_sequence(words, batch_first=True), torch.tensor([len(w) for w in words]), torch.tensor(stars)


class Rater(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.Embedding(61, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, 1)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.emb(words), lengths, batch_first=True, enforce_sorted=False)
        _, (h, _) = self.lstm(packed)
        return self.out(torch.cat([h[0], h[1]], 1)).squeeze(-1)


def loader_for(data, batch_size, shuffle):
    lengths = [len(w) for w, _ in data.items]
    return DataLoader(data, batch_sampler=BucketSampler(lengths, batch_size, shuffle), collate_fn=collate)


def main():
    random.seed(0)
    torch.manual_seed(0)
    train_loader = loader_for(Reviews(400, 0), 24, True)
    test_loader = loader_for(Reviews(101, 1), 25, False)
    model = Rater()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, epochs=4, steps_per_epoch=len(train_loader))
    window = deque(maxlen=100)
    step = 0
    for epoch in range(4):
        model.train()
        for words, lengths, stars in train_loader:
            loss = criterion(model(words, lengths), stars)
            model.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
            step += 1
            window.append(loss.item())
            if step % 15 == 0:
                print(f"step {step} mean of the last {len(window)}: {sum(window) / len(window):.4f}")
        model.eval()
        predictions, targets = [], []
        with torch.no_grad():
            for words, lengths, stars in test_loader:
                predictions.extend(model(words, lengths).tolist())
                targets.extend(stars.tolist())
        mae = sum(abs(p - t) for p, t in zip(predictions, targets)) / len(targets)
        print(f"epoch {epoch} test mae {mae:.4f}")


if __name__ == "__main__":
    main()
