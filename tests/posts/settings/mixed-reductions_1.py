# line 28: the reconstruction error is summed over all pixels and the divergence is a mean
import torch
import torch.nn as nn
from torch.distributions import Normal, kl_divergence


class ConvVAE(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 2 * latent))
        self.dec = nn.Sequential(
            nn.Linear(latent, 512), nn.ReLU(), nn.Unflatten(1, (8, 8, 8)), nn.ConvTranspose2d(8, 1, 4, 2, 1)
        )

    def forward(self, image):
        mean, raw = self.enc(image).chunk(2, dim=1)
        posterior = Normal(mean, nn.functional.softplus(raw) + 1e-4)
        return self.dec(posterior.rsample()), posterior


class Elbo(nn.Module):
    def __init__(self):
        super().__init__()
        self.bce = nn.BCEWithLogitsLoss(reduction="sum")
        self.prior = Normal(torch.tensor(0.0), torch.tensor(1.0))

    def forward(self, logits, image, posterior):
        rate = kl_divergence(posterior, self.prior).mean()
        return self.bce(logits, image) + rate


torch.manual_seed(40)
digits = (torch.rand(128, 1, 16, 16) < torch.rand(128, 1, 1, 1)).float()
vae, elbo = ConvVAE(), Elbo()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
for epoch in range(4):
    epoch_loss = 0.0
    for rows in torch.randperm(128).split(32):
        image = digits[rows]
        logits, posterior = vae(image)
        loss = elbo(logits, image, posterior)
        opt.zero_grad()
        loss.backward()
        opt.step()
        epoch_loss += loss.item()
    print(epoch, epoch_loss / 128)
