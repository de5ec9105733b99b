import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

TAGS = ["DET", "NOUN", "VERB", "ADJ", "ADV", "PRON", "PUNCT"]
PAD_TAG = -100


def make_corpus(n, seed):
    rng = random.Random(seed)
    vocab = {tag: [f"{tag.lower()}{i}" for i in range(12)] for tag in TAGS}
    corpus = []
    for _ in range(n):
        tags = [rng.choice(TAGS[:-1]) for _ in range(rng.randint(4, 14))] + ["PUNCT"]
        corpus.append(([rng.choice(vocab[t]) for t in tags], tags))
    return corpus


class TaggedSentences(Dataset):
    def __init__(self, corpus, word2id):
        self.corpus = corpus
        self.word2id = word2id

    def __len__(self):
        return len(self.corpus)

    def __getitem__(self, i):
        words, tags = self.corpus[i]
        w = torch.tensor([self.word2id.get(x, 1) for x in words])
        t = torch.tensor([TAGS.index(x) for x in tags])
        return w, t


def collate(batch):
    words, tags = zip(*batch)
    return (pad_sequence(words, batch_first=True),
            pad_sequence(tags, batch_first=True, padding_value=PAD_TAG))


class Tagger(nn.Module):
    def __init__(self, n_words, n_tags, emb=32, hidden=48):
        super().__init__()
        self.emb = nn.Embedding(n_words, emb, padding_idx=0)
        self.rnn = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.2)
        self.proj = nn.Linear(2 * hidden, n_tags)
        self.loss_fn = nn.CrossEntropyLoss(ignore_index=PAD_TAG)

    def forward(self, words):
        out, _ = self.rnn(self.emb(words))
        return self.proj(self.drop(out))

    def loss(self, words, tags):
        scores = self(words)
        return self.loss_fn(scores, tags)


class Trainer:
    def __init__(self, model, train, dev):
        self.model = model
        self.train_loader = DataLoader(train, batch_size=16, shuffle=True, collate_fn=collate)
        self.dev_loader = DataLoader(dev, batch_size=32, collate_fn=collate)
        self.opt = torch.optim.Adam(model.parameters(), lr=5e-3)

    def fit(self, epochs):
        for e in range(epochs):
            self.model.train()
            losses = []
            for words, tags in self.train_loader:
                self.opt.zero_grad()
                loss = self.model.loss(words, tags)
                loss.backward()
                self.opt.step()
                losses.append(loss.item())
            print(f"epoch {e}: loss {sum(losses) / len(losses):.3f}, dev {self.accuracy():.3f}")

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        good = total = 0
        for words, tags in self.dev_loader:
            real = tags != PAD_TAG
            good += (self.model(words).argmax(-1)[real] == tags[real]).sum().item()
            total += real.sum().item()
        return good / total


torch.manual_seed(1)
train_corpus, dev_corpus = make_corpus(200, 0), make_corpus(40, 1)
word2id = {"<pad>": 0, "<unk>": 1}
for words, _ in train_corpus:
    for w in words:
        word2id.setdefault(w, len(word2id))

Trainer(Tagger(len(word2id), len(TAGS)),
        TaggedSentences(train_corpus, word2id),
        TaggedSentences(dev_corpus, word2id)).fit(3)
