import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, Dataset


def l2norm(x):
    return x / (x.pow(2).sum(dim=1, keepdim=True).sqrt() + 1e-8)


class PairData(Dataset):
    def __init__(self, n=640, vocab=60, dim=24, seed=0):
        words = np.random.default_rng(99).normal(size=(vocab, dim)).astype(np.float32)
        rng = np.random.default_rng(seed)
        self.captions = [rng.integers(1, vocab, rng.integers(3, 10)) for _ in range(n)]
        self.images = np.stack([words[c].mean(0) + rng.normal(0, 0.05, dim) for c in self.captions]).astype(np.float32)

    def __len__(self):
        return len(self.captions)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), torch.from_numpy(self.captions[i])


def collate_fn(data):
    images, captions = zip(*data)
    lengths = [len(c) for c in captions]
    targets = torch.zeros(len(captions), max(lengths), dtype=torch.long)
    for i, c in enumerate(captions):
        targets[i, :lengths[i]] = c
    return torch.stack(images), targets, torch.tensor(lengths)


class EncoderImage(nn.Module):
    def __init__(self, dim=24, embed_size=48):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, embed_size))

    def forward(self, images):
        return l2norm(self.fc(images))


class EncoderText(nn.Module):
    def __init__(self, vocab_size=60, word_dim=32, embed_size=48):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, word_dim)
        self.rnn = nn.GRU(word_dim, embed_size, batch_first=True)

    def forward(self, captions, lengths):
        x = self.embed(captions)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = self.rnn(packed)
        padded, _ = pad_packed_sequence(out, batch_first=True)
        last = (lengths - 1).view(-1, 1, 1).expand(-1, 1, padded.size(2))
        out = padded.gather(1, last).squeeze(1)
        return l2norm(out)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=0.2):
        super().__init__()
        self.margin = margin

    def forward(self, im, s):
        scores = im @ s.t()
        diagonal = scores.diag().view(-1, 1)
        cost_s = (self.margin + scores - diagonal).clamp(min=0)
        cost_im = (self.margin + scores - diagonal.t()).clamp(min=0)
        eye = torch.eye(len(scores), dtype=torch.bool)
        return cost_s.masked_fill(eye, 0).sum() + cost_im.masked_fill(eye, 0).sum()


@torch.no_grad()
def recall(img_enc, txt_enc, loader):
    r1 = total = 0
    for images, captions, lengths in loader:
        scores = img_enc(images) @ txt_enc(captions, lengths).t()
        r1 += (scores.argmax(1) == torch.arange(len(scores))).sum().item()
        total += len(scores)
    return r1 / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--num_epochs', type=int, default=6)
    parser.add_argument('--grad_clip', type=float, default=2.0)
    opt = parser.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(PairData(), batch_size=32, shuffle=True, collate_fn=collate_fn)
    val_loader = DataLoader(PairData(160, seed=1), batch_size=32, collate_fn=collate_fn)
    img_enc, txt_enc = EncoderImage(), EncoderText()
    params = list(img_enc.parameters()) + list(txt_enc.parameters())
    optimizer = torch.optim.Adam(params, lr=2e-3)
    criterion = ContrastiveLoss()
    for epoch in range(opt.num_epochs):
        for images, captions, lengths in train_loader:
            loss = criterion(img_enc(images), txt_enc(captions, lengths))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(params, opt.grad_clip)
            optimizer.step()
        print(f'epoch {epoch} loss {loss.item():.2f} r@1 {recall(img_enc, txt_enc, val_loader):.3f}')


if __name__ == '__main__':
    main()
