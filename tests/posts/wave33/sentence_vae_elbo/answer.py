import argparse
from collections import defaultdict

import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, Dataset

PAD, SOS, EOS = 0, 1, 2


class ToySentences(Dataset):
    def __init__(self, n, max_len, vocab, seed=0):
        rng = np.random.RandomState(seed)
        self.items = []
        for _ in range(n):
            k = rng.randint(4, max_len - 1)
            words = (rng.randint(3, vocab) + np.arange(k)) % (vocab - 3) + 3
            src = np.full(max_len, PAD)
            tgt = np.full(max_len, PAD)
            src[:k + 1] = np.concatenate([[SOS], words])
            tgt[:k + 1] = np.concatenate([words, [EOS]])
            self.items.append((src, tgt, k + 1))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        src, tgt, length = self.items[i]
        return {'input': src.astype('int64'), 'target': tgt.astype('int64'), 'length': length}


class SentenceVAE(nn.Module):
    def __init__(self, vocab, emb=32, hidden=48, latent=8):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=PAD)
        self.encoder = nn.GRU(emb, hidden, batch_first=True)
        self.mean = nn.Linear(hidden, latent)
        self.logv = nn.Linear(hidden, latent)
        self.latent2hidden = nn.Linear(latent, hidden)
        self.decoder = nn.GRU(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, length):
        emb = self.embedding(x)
        packed = pack_padded_sequence(emb, length, batch_first=True, enforce_sorted=False)
        _, h = self.encoder(packed)
        h = h.squeeze(0)
        mean, logv = self.mean(h), self.logv(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logv)
        h0 = self.latent2hidden(z).unsqueeze(0)
        outputs, _ = self.decoder(packed, h0)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True)
        return nn.functional.log_softmax(self.out(outputs), dim=-1), mean, logv


def main(args):
    torch.manual_seed(3)
    splits = {'train': ToySentences(200, args.max_len, args.vocab, 0),
              'valid': ToySentences(60, args.max_len, args.vocab, 1)}
    model = SentenceVAE(args.vocab)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    NLL = nn.NLLLoss(ignore_index=PAD, reduction='sum')

    def loss_fn(logp, target, length, mean, logv, step):
        # cut-off unnecessary padding from target, and flatten
        target = target[:, :torch.max(length).data].contiguous().view(-1)
        logp = logp.view(-1, logp.size(2))
        nll = NLL(logp, target)
        kl = -0.5 * torch.sum(1 + logv - mean.pow(2) - logv.exp())
        weight = float(1 / (1 + np.exp(-0.05 * (step - args.x0))))
        return nll, kl, weight

    step = 0
    for epoch in range(args.epochs):
        for split, data in splits.items():
            loader = DataLoader(data, batch_size=args.batch_size, shuffle=split == 'train')
            model.train(split == 'train')
            tracker = defaultdict(list)
            for batch in loader:
                logp, mean, logv = model(batch['input'], batch['length'])
                nll, kl, weight = loss_fn(logp, batch['target'], batch['length'], mean, logv, step)
                loss = (nll + weight * kl) / batch['input'].size(0)
                if split == 'train':
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    step += 1
                tracker['elbo'].append(loss.item())
            print('%s epoch %02d/%i, mean ELBO %9.4f' % (split, epoch, args.epochs, np.mean(tracker['elbo'])))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--max_len', type=int, default=14)
    parser.add_argument('--vocab', type=int, default=40)
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--batch_size', type=int, default=20)
    parser.add_argument('--lr', type=float, default=1e-3)
    parser.add_argument('--x0', type=int, default=25)
    main(parser.parse_args())
