# line 16: tie_decoder stores a clone of the encoder's transposed weight: two parameters from then on
import torch
from torch import nn


class TiedAutoencoder(nn.Module):
    """Decoder shares the weights of the encoder (transposed)."""

    def __init__(self, n_in=30, n_code=6):
        super().__init__()
        self.encoder = nn.Linear(n_in, n_code)
        self.decoder = nn.Linear(n_code, n_in)
        self.tie_decoder()

    def tie_decoder(self):
        self.decoder.weight = nn.Parameter(self.encoder.weight.t().clone())

    def forward(self, x):
        return self.decoder(torch.tanh(self.encoder(x)))


def low_rank(n, gen):
    basis = torch.randn(6, 30, generator=torch.Generator().manual_seed(77))
    return torch.randn(n, 6, generator=gen) @ basis / 2


torch.manual_seed(0)
gen = torch.Generator().manual_seed(0)
ae = TiedAutoencoder()
optimizer = torch.optim.Adam(ae.parameters(), lr=5e-3)
for it in range(200):
    x = low_rank(64, gen)
    loss = (ae(x) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
ae.eval()
with torch.no_grad():
    x = low_rank(200, gen)
    print("test", (ae(x) - x).pow(2).mean().item())
