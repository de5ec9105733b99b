"""Generate town names with a character GRU."""
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS = 0, 1, 2

PREFIX = ["ash", "wood", "king", "nor", "black", "chester", "mill", "red", "brad", "stan", "hart", "lang"]
SUFFIX = ["ton", "ford", "ham", "bury", "wick", "ley", "mouth", "field", "by", "well", "port", "stead"]


class CharVocab:
    def __init__(self, words):
        chars = sorted({c for w in words for c in w})
        self.itos = ["<pad>", "<bos>", "<eos>"] + chars
        self.stoi = {c: i for i, c in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def encode(self, word):
        return torch.tensor([BOS] + [self.stoi[c] for c in word] + [EOS])

    def decode(self, ids):
        return "".join(self.itos[i] for i in ids if i > EOS)


class TownNames(Dataset):
    def __init__(self, names, vocab):
        self.encoded = [vocab.encode(n) for n in names]

    def __len__(self):
        return len(self.encoded)

    def __getitem__(self, i):
        seq = self.encoded[i]
        return seq[:-1], seq[1:]


def collate(batch):
    xs, ys = zip(*batch)
    return (pad_sequence(xs, batch_first=True, padding_value=PAD),
            pad_sequence(ys, batch_first=True, padding_value=PAD))


class CharGRU(nn.Module):
    def __init__(self, n_chars, emb=24, hidden=96):
        super().__init__()
        self.embed = nn.Embedding(n_chars, emb, padding_idx=PAD)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n_chars)

    def forward(self, x, h=None):
        y, h = self.gru(self.embed(x), h)
        return self.out(y), h


@torch.no_grad()
def sample(model, vocab, max_len=15, temperature=0.8):
    model.eval()
    token, h, ids = torch.tensor([[BOS]]), None, []
    for _ in range(max_len):
        logits, h = model(token, h)
        probs = torch.softmax(logits[:, -1] / temperature, dim=-1)
        token = torch.multinomial(probs, 1)
        if token.item() == EOS:
            break
        ids.append(token.item())
    return vocab.decode(ids)


def main():
    random.seed(0)
    torch.manual_seed(0)
    names = [p + s for p in PREFIX for s in SUFFIX]
    random.shuffle(names)
    vocab = CharVocab(names)
    train_set = TownNames(names[:120], vocab)
    valid_set = TownNames(names[120:], vocab)
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True, collate_fn=collate)
    valid_loader = DataLoader(valid_set, batch_size=24, collate_fn=collate)

    model = CharGRU(len(vocab))
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    for epoch in range(1, 31):
        model.train()
        for x, y in train_loader:
            logits, _ = model(x)
            loss = criterion(logits.transpose(1, 2), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        if epoch % 10 == 0:
            model.eval()
            with torch.no_grad():
                x, y = next(iter(valid_loader))
                valid_loss = criterion(model(x)[0].transpose(1, 2), y)
            print(f"epoch {epoch:2d}  valid perplexity {valid_loss.exp().item():.3f}")

    print([sample(model, vocab) for _ in range(8)])


if __name__ == "__main__":
    main()
