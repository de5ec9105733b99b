import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

ATOMS = ['<s>', 'C', 'N', 'O', 'c', '1', '(', ')', '=', 'F', 'S', '.']
LENGTH = 16


def random_smiles(n, seed):
    """strings of a fixed length, in which a motif repeats"""
    g = torch.Generator().manual_seed(seed)
    motif = torch.randint(1, len(ATOMS), (n, 4), generator=g)
    return motif.repeat(1, LENGTH // 4)


class Positional(nn.Module):
    def __init__(self, dim, max_len=64):
        super().__init__()
        pos = torch.arange(max_len)[:, None]
        div = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        pe = torch.zeros(max_len, dim)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer('pe', pe)

    def forward(self, x):
        return x + self.pe[:x.size(1)]


class TransformerVAE(nn.Module):
    def __init__(self, vocab, embed=48, heads=4, layers=2, latent=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, embed)
        self.pos = Positional(embed)
        enc = nn.TransformerEncoderLayer(embed, heads, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(enc, layers)
        self.to_mu, self.to_logvar = nn.Linear(embed, latent), nn.Linear(embed, latent)
        self.from_latent = nn.Linear(latent, embed)
        self.rnn = nn.GRU(embed, embed, batch_first=True)
        self.out = nn.Linear(embed, vocab)

    def encode(self, x):
        h = self.encoder(self.pos(self.embed(x)))
        h = h.mean(dim=1)
        return self.to_mu(h), self.to_logvar(h)

    def decode(self, z, x):
        start = torch.zeros_like(x[:, :1])
        prev = self.embed(torch.cat([start, x[:, :-1]], dim=1))
        h, _ = self.rnn(prev, self.from_latent(z)[None])
        return self.out(h)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decode(z, x), mu, logvar


def vae_loss(logits, x, mu, logvar, beta=0.005):
    rec = F.cross_entropy(logits.reshape(-1, logits.size(-1)), x.reshape(-1))
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + beta * kl, rec


def main():
    torch.manual_seed(0)
    train = DataLoader(TensorDataset(random_smiles(512, 1)), batch_size=64, shuffle=True)
    test = random_smiles(64, 2)
    model = TransformerVAE(len(ATOMS))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(6):
        model.train()
        for (x,) in train:
            logits, mu, logvar = model(x)
            loss, rec = vae_loss(logits, x, mu, logvar)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print('epoch %d loss %.3f rec %.3f' % (epoch, loss.item(), rec.item()))

    model.eval()
    with torch.no_grad():
        mu_all, _ = model.encode(test)
        mu_one, _ = model.encode(test[:1])
        rec = model.decode(mu_all, test).argmax(-1)
    print('test accuracy %.3f' % (rec == test).float().mean().item())
    print('latent of the first molecule, in the batch and by itself: %.3f %.3f'
          % (mu_all[0].norm().item(), mu_one[0].norm().item()))
    print('largest difference %.5f' % (mu_all[0] - mu_one[0]).abs().max().item())


if __name__ == '__main__':
    main()
