# line 15: the Gumbel softmax over the codes of a sample runs along the batch (dim=0)
import torch
import torch.nn.functional as F
from torch import nn


class CategoricalVAE(nn.Module):
    def __init__(self, pixels=36, codes=10):
        super().__init__()
        self.codes = codes
        self.encoder = nn.Sequential(nn.Linear(pixels, 48), nn.ReLU(), nn.Linear(48, codes))
        self.decoder = nn.Sequential(nn.Linear(codes, 48), nn.ReLU(), nn.Linear(48, pixels))

    def relaxed_code(self, logits, temperature):
        return F.gumbel_softmax(logits, tau=temperature, dim=0)

    def forward(self, x, temperature):
        logits = self.encoder(x)
        z = self.relaxed_code(logits, temperature)
        log_q = logits.log_softmax(-1)
        kl = (log_q.exp() * (log_q + torch.log(torch.tensor(float(self.codes))))).sum(-1)
        return self.decoder(z), kl


def glyphs(n):
    shapes = (torch.rand(10, 36, generator=torch.Generator().manual_seed(0)) > 0.5).float()
    x = shapes[torch.randint(10, (n,))]
    return torch.where(torch.rand(n, 36) < 0.03, 1 - x, x)


torch.manual_seed(11)
x_all = glyphs(500)
vae = CategoricalVAE()
opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
temperature = 1.0
for epoch in range(6):
    elbo = 0.0
    for x in x_all[torch.randperm(500)].split(50):
        recon, kl = vae(x, temperature)
        nll = F.binary_cross_entropy_with_logits(recon, x, reduction="none").sum(1)
        loss = (nll + kl).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        elbo -= loss.item() * len(x)
    temperature = max(0.4, temperature * 0.9)
    print(f"epoch {epoch}: elbo {elbo / 500:.3f}")
