import random
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS = '<pad>', '<bos>', '<eos>'
FRAGMENTS = ['C', 'CC', 'CO', 'CN', 'C(=O)', 'C(C)', 'C(O)', 'c1ccccc1', 'CCl', 'C=C', 'C#N', 'N(C)']
CHARS = [PAD, BOS, EOS] + sorted(set(''.join(FRAGMENTS)))
INDEX = {c: i for i, c in enumerate(CHARS)}
MAX_LEN = 60


def smiles(rng):
    return ''.join(rng.choice(FRAGMENTS) for _ in range(rng.randint(1, 4)))


def encode(strings):
    ids = torch.full((len(strings), MAX_LEN), INDEX[PAD], dtype=torch.long)
    for i, s in enumerate(strings):
        seq = [INDEX[BOS]] + [INDEX[c] for c in s][:MAX_LEN - 2] + [INDEX[EOS]]
        ids[i, :len(seq)] = torch.tensor(seq)
    return ids


class BetaVAE(nn.Module):
    def __init__(self, vocab_size, emb=24, hidden=64, latent=24):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb, padding_idx=INDEX[PAD])
        self.encoder = nn.GRU(emb, hidden, batch_first=True)
        self.mu, self.log_var = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.init_hidden = nn.Linear(latent, hidden)
        self.decoder = nn.GRU(emb + latent, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab_size)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        h = self.encoder(packed)[1][-1]
        mu, log_var = self.mu(h), self.log_var(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * log_var)
        inputs = torch.cat([self.embedding(x[:, :-1]), z.unsqueeze(1).expand(-1, x.size(1) - 1, -1)], dim=2)
        out, _ = self.decoder(inputs, torch.tanh(self.init_hidden(z)).unsqueeze(0))
        return self.out(out), mu, log_var


def loss_function(logits, target, mu, log_var, beta):
    recon = F.cross_entropy(logits.reshape(-1, logits.size(-1)), target.reshape(-1),
                            ignore_index=INDEX[PAD])
    kl = -0.5 * (1 + log_var - mu ** 2 - log_var.exp()).sum(dim=1).mean()
    return recon + beta * kl, recon, kl


def run(epochs=3, batch_size=64):
    rng = random.Random(0)
    torch.manual_seed(0)
    data = encode([smiles(rng) for _ in range(1500)])
    held_out = encode([smiles(rng) for _ in range(200)])
    model = BetaVAE(len(CHARS))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, epochs + 1):
        model.train()
        beta = 0.001 * epoch
        total = 0.0
        for idx in torch.randperm(len(data)).split(batch_size):
            x = data[idx]
            logits, mu, log_var = model(x, (x != INDEX[PAD]).sum(dim=1))
            loss, recon, kl = loss_function(logits, x[:, 1:], mu, log_var, beta)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += recon.item() * len(idx)
        model.eval()
        with torch.no_grad():
            logits, _, _ = model(held_out, (held_out != INDEX[PAD]).sum(dim=1))
            real = held_out[:, 1:] != INDEX[PAD]
            right = (logits.argmax(-1) == held_out[:, 1:])[real].float().mean().item()
        print('epoch %d reconstruction loss %.4f characters right %.3f' % (epoch, total / len(data), right))


if __name__ == '__main__':
    run()
