# line 21: the weights of the exposures (N,) are multiplied with the losses of the claims (N, 1), which weights all pairs
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ClaimFrequency(nn.Module):
    def __init__(self, regions=6):
        super().__init__()
        self.region = nn.Embedding(regions, 4)
        self.mlp = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, region, numbers):
        return self.mlp(torch.cat([self.region(region), numbers], dim=1))


class ExposureWeightedPoisson(nn.Module):
    def forward(self, log_rate, claims, exposure):
        each = F.poisson_nll_loss(log_rate, claims, reduction="none")
        return torch.mul(each, exposure).mean() / exposure.mean()


def policies(n):
    region = torch.randint(6, (n,))
    numbers = torch.randn(n, 2)
    exposure = torch.rand(n) * 0.9 + 0.1
    rate = torch.exp(0.3 * region.float() - 1 + 0.5 * numbers[:, 0])
    claims = torch.poisson(rate * exposure) / exposure
    return TensorDataset(region, numbers, claims.unsqueeze(1), exposure)


def main():
    torch.manual_seed(64)
    loader = DataLoader(policies(600), batch_size=50, shuffle=True)
    net, criterion = ClaimFrequency(), ExposureWeightedPoisson()
    opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for epoch in range(6):
        history = []
        for region, numbers, claims, exposure in loader:
            loss = criterion(net(region, numbers), claims, exposure)
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.append(loss.item())
        print("epoch", epoch, "deviance", sum(history) / len(history))


main()
