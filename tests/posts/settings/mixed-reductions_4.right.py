# line 29: the cross entropy of the words is a mean over all words, the divergence a sum over all samples and latents
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
VOCAB, LENGTH = 20, 8


class SentenceVAE(nn.Module):
    def __init__(self, dim=24, latent=6):
        super().__init__()
        self.words = nn.Embedding(VOCAB, dim)
        self.enc = nn.GRU(dim, dim, batch_first=True)
        self.to_stats = nn.Linear(dim, 2 * latent)
        self.from_z = nn.Linear(latent, dim)
        self.dec = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        mu, logvar = self.to_stats(self.enc(self.words(ids))[1][-1]).chunk(2, dim=-1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        start = torch.tanh(self.from_z(z)).unsqueeze(0)
        shifted = F.pad(ids[:, :-1], (1, 0), value=0)
        return self.out(self.dec(self.words(shifted), start)[0]), mu, logvar


def elbo_terms(logits, ids, mu, logvar):
    words = F.cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="sum")
    divergence = 0.5 * torch.sum(mu.square() + logvar.exp() - 1 - logvar)
    return words, divergence


def sentences(n):
    theme = torch.randint(0, 4, (n, 1))
    return 1 + (theme * 5 + torch.randint(0, 5, (n, LENGTH))) % (VOCAB - 1)


model = SentenceVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
text = sentences(400)
for epoch in range(8):
    model.train()
    order = torch.randperm(len(text))
    for rows in order.split(40):
        ids = text[rows]
        logits, mu, logvar = model(ids)
        words, divergence = elbo_terms(logits, ids, mu, logvar)
        optimizer.zero_grad()
        (words + divergence).backward()
        optimizer.step()
    print(epoch, "divergence of a sentence", divergence.item() / len(ids))

model.eval()
with torch.no_grad():
    logits, mu, _ = model(sentences(100))
print("spread of the codes", mu.std(0).mean().item())
