import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

TOKENS = ['[PAD]', '[BOS]', '[EOS]', '+', '-', '^', '{', '}'] + list('0123456789')
STOI = {t: i for i, t in enumerate(TOKENS)}
PAD, BOS, EOS = 0, 1, 2
MAX_LEN = 24


class FormulaDataset(Dataset):
    """Columns of a rendered formula: one 8x8 glyph for each token."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        g = torch.Generator().manual_seed(0)
        self.glyphs = torch.rand(len(TOKENS), 8, 8, generator=g)
        self.items = [self.formula(rng) for _ in range(n)]

    @staticmethod
    def formula(rng):
        out = [rng.choice('0123456789')]
        for _ in range(rng.choice([0, 0, 1, 1, 2, 4])):
            out += [rng.choice('+-'), rng.choice('0123456789')]
            if rng.random() < 0.3:
                out += ['^', '{', rng.choice('0123456789'), '}']
        return [STOI[t] for t in out][:MAX_LEN - 2]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        ids = self.items[i]
        image = torch.zeros(1, 8, 8 * MAX_LEN)
        for k, t in enumerate(ids):
            image[0, :, 8 * k:8 * k + 8] = self.glyphs[t]
        image += 0.1 * torch.randn(image.shape)
        seq = torch.full((MAX_LEN,), PAD)
        seq[:len(ids) + 2] = torch.tensor([BOS] + ids + [EOS])
        return image, seq


class DecoderNet(nn.Module):
    def __init__(self, num_tokens, dim, max_seq_len, depth=2, heads=4):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.token_emb, self.pos_emb = nn.Embedding(num_tokens, dim), nn.Embedding(max_seq_len, dim)
        layer = nn.TransformerDecoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerDecoder(layer, depth)
        self.to_logits = nn.Linear(dim, num_tokens)

    def forward(self, x, context, mask=None):
        n = x.shape[1]
        h = self.token_emb(x) + self.pos_emb(torch.arange(n))
        causal = torch.ones(n, n).triu(1).bool()
        pad = ~mask if mask is not None else None
        return self.to_logits(self.layers(h, context, tgt_mask=causal, tgt_key_padding_mask=pad))


class TeacherForcing(nn.Module):
    def __init__(self, net, ignore_index=-100, pad_value=0):
        super().__init__()
        self.net = net
        self.ignore_index = ignore_index
        self.pad_value = pad_value

    def forward(self, x, **kwargs):
        inputs, labels = x[:, :-1], x[:, 1:]
        keep = kwargs.pop('mask')[:, :-1]
        logits = self.net(inputs, mask=keep, **kwargs)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=self.ignore_index)

    @torch.no_grad()
    def generate(self, context):
        x = torch.full((len(context), 1), BOS)
        for _ in range(MAX_LEN - 1):
            nxt = self.net(x, context)[:, -1].argmax(-1, keepdim=True)
            x = torch.cat([x, nxt], dim=1)
        return x


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.encoder = nn.Conv2d(1, dim, 8, stride=8)
        self.pos = nn.Parameter(0.02 * torch.randn(MAX_LEN, dim))
        self.decoder = TeacherForcing(DecoderNet(len(TOKENS), dim, MAX_LEN), pad_value=PAD)

    def encode(self, image):
        return self.encoder(image).squeeze(2).transpose(1, 2) + self.pos

    def forward(self, image, seq):
        return self.decoder(seq, context=self.encode(image), mask=seq != PAD)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=4)
    parser.add_argument('--batchsize', type=int, default=32)
    parser.add_argument('--lr', type=float, default=2e-3)
    args = parser.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(FormulaDataset(1500, 0), batch_size=args.batchsize, shuffle=True)
    valid = FormulaDataset(64, 1)
    model = Model(dim=64)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        total = 0.0
        for image, seq in loader:
            loss = model(image, seq)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        image, seq = next(iter(DataLoader(valid, batch_size=64)))
        tokens = model.decoder.generate(model.encode(image))
        acc = (tokens == seq)[seq != PAD].float().mean().item()
        print(f'epoch {epoch}: loss {total / len(loader):.4f}, token acc {acc:.3f}')


if __name__ == '__main__':
    main()
