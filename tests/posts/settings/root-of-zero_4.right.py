# line 11: the distances of all atoms, each to itself too, go through sqrt before the pairs are picked by index
import torch
from torch import nn

torch.manual_seed(1)
N_ATOMS, N_PAIRS = 6, 15


def pair_lengths(position):
    delta = position.unsqueeze(2) - position.unsqueeze(1)
    length = torch.sqrt(delta.pow(2).sum(-1).clamp(min=1e-12))
    row, col = torch.tril_indices(N_ATOMS, N_ATOMS, offset=-1)
    return length[:, row, col]


class Denoiser(nn.Module):
    """Moves perturbed atoms back along the vectors between them."""

    def __init__(self):
        super().__init__()
        self.force = nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, position):
        delta = position.unsqueeze(2) - position.unsqueeze(1)
        strength = self.force(delta.square().sum(-1, keepdim=True))
        return position + (strength * delta).mean(2)


class Experiment:
    def __init__(self, reference, lr=2e-3):
        self.reference = reference
        self.model = Denoiser()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)

    def batch(self, n=32):
        return self.reference + 0.1 * torch.randn(n, N_ATOMS, 3)

    def step(self):
        moved = self.model(self.batch())
        wanted = pair_lengths(self.reference[None])
        loss = (pair_lengths(moved) - wanted).abs().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def test(self):
        self.model.eval()
        return (pair_lengths(self.model(self.batch(200))) - pair_lengths(self.reference[None])).abs().mean().item()


experiment = Experiment(torch.randn(N_ATOMS, 3))
for k in range(150):
    value = experiment.step()
    if k % 50 == 0:
        print(k, value)
print("bond error", experiment.test())
