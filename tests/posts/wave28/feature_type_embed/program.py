"""Morphological inflection: a lemma and its features go in, the inflected form comes out."""
import argparse
import math
import random

import torch
from torch import nn, optim
from torch.nn.utils.rnn import pad_sequence

PAD, START, END = 0, 1, 2
LETTERS = "abcdefghij"
FEATURES = ["[PST]", "[PL]", "[3SG]"]


class Index:
    """Symbols first, feature symbols at the end."""

    def __init__(self):
        self.symbols = ["<pad>", "<s>", "</s>"] + list(LETTERS) + FEATURES
        self.lookup = {s: i for i, s in enumerate(self.symbols)}

    @property
    def source_size(self):
        return len(self.symbols)

    @property
    def features_size(self):
        return len(FEATURES)

    def encode(self, symbols):
        return torch.tensor([START] + [self.lookup[s] for s in symbols] + [END])


def inflect(lemma, feature):
    return lemma + {"[PST]": "ed", "[PL]": "i", "[3SG]": "ij"}[feature]


def make_batches(index, n, batch_size, rng):
    pairs = []
    for _ in range(n):
        lemma = "".join(rng.choice(LETTERS) for _ in range(rng.randint(3, 6)))
        feature = rng.choice(FEATURES)
        pairs.append((index.encode(list(lemma) + [feature]), index.encode(inflect(lemma, feature))))
    for i in range(0, n, batch_size):
        source, target = zip(*pairs[i:i + batch_size])
        yield pad_sequence(source, batch_first=True), pad_sequence(target, batch_first=True)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        table = torch.zeros(max_len, d_model)
        table[:, 0::2] = torch.sin(position * div)
        table[:, 1::2] = torch.cos(position * div)
        self.register_buffer("table", table)

    def forward(self, symbols, mask=None):
        positions = torch.arange(symbols.size(1), device=symbols.device).expand_as(symbols)
        if mask is not None:
            positions = positions * mask
        return self.table[positions]


class FeatureInvariantEncoder(nn.Module):
    """Position means nothing for a feature; letters and features have a type embedding."""

    def __init__(self, index, d_model, heads, layers, dropout):
        super().__init__()
        self.source_size, self.features_size = index.source_size, index.features_size
        self.scale = math.sqrt(d_model)
        self.embeddings = nn.Embedding(index.source_size, d_model, padding_idx=PAD)
        self.type_embedding = nn.Embedding(2, d_model)
        self.positional_encoding = PositionalEncoding(d_model)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(d_model, heads, 2 * d_model, dropout, batch_first=True)
        self.module = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def embed(self, symbols):
        char_mask = symbols < (self.source_size - self.features_size)
        word_embedding = self.scale * self.embeddings(symbols)
        type_embedding = self.scale * self.type_embedding(char_mask)
        return self.dropout(word_embedding + self.positional_encoding(symbols, mask=char_mask) + type_embedding)

    def forward(self, symbols):
        return self.module(self.embed(symbols), src_key_padding_mask=symbols == PAD)


class Inflector(nn.Module):
    def __init__(self, index, d_model=32, heads=4, layers=1, dropout=0.1):
        super().__init__()
        self.encoder = FeatureInvariantEncoder(index, d_model, heads, layers, dropout)
        self.embeddings = nn.Embedding(index.source_size, d_model, padding_idx=PAD)
        self.positional_encoding = PositionalEncoding(d_model)
        layer = nn.TransformerDecoderLayer(d_model, heads, 2 * d_model, dropout, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, layers)
        self.classifier = nn.Linear(d_model, index.source_size)

    def forward(self, source, target):
        size = target.size(1)
        causal = torch.triu(torch.ones(size, size, dtype=torch.bool, device=target.device), 1)
        hidden = self.embeddings(target) + self.positional_encoding(target)
        hidden = self.decoder(hidden, self.encoder(source), tgt_mask=causal,
                              tgt_key_padding_mask=target == PAD, memory_key_padding_mask=source == PAD)
        return self.classifier(hidden)


def main(args):
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    index = Index()
    model = Inflector(index)
    optimizer = optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    model.train()
    for epoch in range(1, args.max_epochs + 1):
        losses = []
        for source, target in make_batches(index, 256, args.batch_size, rng):
            optimizer.zero_grad()
            logits = model(source, target[:, :-1])
            loss = criterion(logits.transpose(1, 2), target[:, 1:])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"Epoch {epoch}: loss {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--max-epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=49)
    main(parser.parse_args())
