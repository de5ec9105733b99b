"""Vocabularies."""

from collections import Counter

from torch import nn


class Vocab(nn.Module):
    def __init__(self, tokens):
        super().__init__()
        self.tokens = tokens
        self.numbers = {token: number for number, token in enumerate(tokens)}
        self.default = None

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, token):
        if token not in self.numbers and self.default is None:
            raise RuntimeError(f"Token {token} not found and default index is not set")
        return self.numbers.get(token, self.default)

    def __contains__(self, token):
        return token in self.numbers

    def forward(self, tokens):
        return [self[token] for token in tokens]

    def set_default_index(self, index):
        self.default = index

    def get_itos(self):
        return self.tokens

    def lookup_tokens(self, numbers):
        return [self.tokens[number] for number in numbers]


def build_vocab_from_iterator(iterator, min_freq=1, specials=None, special_first=True):
    counts = Counter(token for tokens in iterator for token in tokens)
    specials = list(specials or [])
    found = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    words = [w for w, n in found if n >= min_freq and w not in specials]
    return Vocab(specials + words if special_first else words + specials)
