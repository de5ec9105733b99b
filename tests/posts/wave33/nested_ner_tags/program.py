import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

EPOCHS = 3
BATCH = 16
N_TAGS = 12
TAG_WEIGHTS = [1.0] + [1.5] * (N_TAGS - 1)
MAX_REGION = 5
EMB, HID = 32, 32

TYPES = ["PERderiv", "LOCderiv", "ORGderiv", "OTHderiv", "PERpart", "LOCpart", "ORGpart",
         "OTHpart", "PER", "LOC", "ORG", "OTH"]
TYPE_SHARE = [3, 6, 1, 2, 2, 2, 4, 1, 20, 18, 14, 7]


def make_sentences(n, rng):
    vocab = ["w%d" % i for i in range(300)]
    out = []
    for _ in range(n):
        words = [rng.choice(vocab) for _ in range(rng.randint(5, 14))]
        spans = []
        for _ in range(rng.randint(0, 3)):
            start = rng.randrange(len(words))
            end = min(len(words), start + rng.randint(1, MAX_REGION))
            spans.append((start, end, rng.choices(TYPES, TYPE_SHARE)[0]))
        out.append((words, spans))
    return out


class NestedNER(Dataset):
    def __init__(self, sentences, word2id, label2id):
        self.items = []
        for words, spans in sentences:
            ids = torch.tensor([word2id[w] for w in words])
            gold = {(s, e): label2id[t] for s, e, t in spans}
            self.items.append((ids, gold))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    ids = pad_sequence([b[0] for b in batch], batch_first=True)
    lengths = [len(b[0]) for b in batch]
    return ids, lengths, [b[1] for b in batch]


class BoundaryAware(nn.Module):
    def __init__(self, n_words):
        super().__init__()
        self.emb = nn.Embedding(n_words, EMB, padding_idx=0)
        self.rnn = nn.LSTM(EMB, HID, batch_first=True, bidirectional=True)
        self.boundary = nn.Linear(2 * HID, 3)
        self.region = nn.Sequential(nn.Linear(6 * HID, HID), nn.ReLU(), nn.Linear(HID, N_TAGS))

    def forward(self, ids, lengths):
        h, _ = self.rnn(self.emb(ids))
        feats, where = [], []
        for b, n in enumerate(lengths):
            for s in range(n):
                for e in range(s + 1, min(n, s + MAX_REGION) + 1):
                    feats.append(torch.cat([h[b, s], h[b, s:e].mean(0), h[b, e - 1]]))
                    where.append((b, s, e))
        return self.boundary(h), self.region(torch.stack(feats)), where


def main():
    rng = random.Random(4)
    torch.manual_seed(4)
    sentences = make_sentences(96, rng)
    word2id = {w: i + 1 for i, w in enumerate(sorted({w for s, _ in sentences for w in s}))}
    label2id = {t: i + 1 for i, t in enumerate(TYPES)}
    loader = DataLoader(NestedNER(sentences, word2id, label2id), batch_size=BATCH, collate_fn=collate)

    model = BoundaryAware(len(word2id) + 1)
    region_loss = nn.CrossEntropyLoss(weight=torch.tensor(TAG_WEIGHTS))
    boundary_loss = nn.CrossEntropyLoss(ignore_index=-1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(EPOCHS):
        total = 0.0
        for ids, lengths, gold in loader:
            optimizer.zero_grad()
            bound, region, where = model(ids, lengths)
            region_target = torch.tensor([gold[b].get((s, e), 0) for b, s, e in where])
            bound_target = torch.full(ids.shape, -1)
            for b, n in enumerate(lengths):
                bound_target[b, :n] = 0
                for s, e in gold[b]:
                    bound_target[b, s:e] = 2
                    bound_target[b, s] = 1
            loss = boundary_loss(bound.transpose(1, 2), bound_target)
            loss = loss + region_loss(region, region_target)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch", epoch, "loss", round(total / len(loader), 4))


if __name__ == "__main__":
    main()
