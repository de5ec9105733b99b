import argparse
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS = 0, 1, 2
NOUNS = "cat dog bird child farmer teacher river boat".split()
VERBS = "sees likes follows hears finds".split()
ADJ = "small old red quiet".split()
WORDS = ["<pad>", "<s>", "</s>", "the", "and"] + NOUNS + VERBS + ADJ
STOI = {w: i for i, w in enumerate(WORDS)}


def sentence(rng):
    def noun_phrase():
        adjectives = [rng.choice(ADJ)] if rng.random() < 0.4 else []
        return ["the"] + adjectives + [rng.choice(NOUNS)]

    words = noun_phrase() + [rng.choice(VERBS)] + noun_phrase()
    while rng.random() < 0.35:
        words += ["and"] + noun_phrase() + [rng.choice(VERBS)] + noun_phrase()
    return [BOS] + [STOI[w] for w in words] + [EOS]


class Sentences(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.data = [torch.tensor(sentence(rng)) for _ in range(n)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


def collate(batch):
    ids = pad_sequence(batch, batch_first=True, padding_value=PAD)
    return ids[:, :-1], ids[:, 1:]


class SmoothedCrossEntropy(nn.Module):
    def __init__(self, smooth_eps=0.1, ignore_index=-100):
        super().__init__()
        self.smooth_eps = smooth_eps
        self.ignore_index = ignore_index

    def forward(self, logits, target):
        num_classes = logits.size(-1)
        eps = self.smooth_eps
        lsm = F.log_softmax(logits, dim=-1)
        masked = target.eq(self.ignore_index)
        eps_sum = eps / num_classes
        eps_nll = 1.0 - eps_sum * num_classes
        likelihood = lsm.gather(dim=-1, index=target.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        loss = -(eps_nll * likelihood + eps_sum * lsm.sum(-1))
        loss = loss.masked_fill(masked, 0.0)
        return loss.mean()


class LanguageModel(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, _ = self.lstm(self.embedding(ids))
        return self.out(h)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--smoothing", type=float, default=0.1)
    args = parser.parse_args()

    torch.manual_seed(0)
    train = DataLoader(Sentences(1500, 1), batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    valid = DataLoader(Sentences(300, 2), batch_size=args.batch_size, collate_fn=collate)
    model = LanguageModel(len(WORDS))
    criterion = SmoothedCrossEntropy(args.smoothing, ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(1, args.epochs + 1):
        model.train()
        train_loss = 0.0
        for inputs, targets in train:
            logits = model(inputs)
            loss = criterion(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            train_loss += loss.item()
        model.eval()
        with torch.no_grad():
            losses = [criterion(model(x).flatten(0, 1), y.flatten()).item() for x, y in valid]
        val = sum(losses) / len(losses)
        print(f"epoch {epoch}: train {train_loss / len(train):.4f} valid {val:.4f} ppl {math.exp(val):.2f}")


if __name__ == "__main__":
    main()
