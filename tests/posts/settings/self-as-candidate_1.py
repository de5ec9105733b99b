# line 19: the denominator of the contrastive loss sums over all similarities, that of each view with itself included
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)


class NTXent(nn.Module):
    def __init__(self, temperature=0.2):
        super().__init__()
        self.temperature = temperature

    def forward(self, first, second):
        both = F.normalize(torch.vstack([first, second]), dim=-1)
        n = len(first)
        sim = torch.einsum("id,jd->ij", both, both) / self.temperature
        partner = (torch.arange(2 * n) + n) % (2 * n)
        log_p = sim - torch.logsumexp(sim, dim=1, keepdim=True)
        return -log_p.gather(1, partner.unsqueeze(1)).mean()


def distort(series):
    scale = 1 + 0.3 * torch.randn(len(series), 1, 1)
    return scale * series + 0.1 * torch.randn_like(series)


class SeriesEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 24, batch_first=True)
        self.project = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 16))

    def forward(self, x):
        return self.project(self.rnn(x)[1][0][-1])


series = torch.randn(192, 20, 3).cumsum(1) * 0.3
encoder, criterion = SeriesEncoder(), NTXent()
opt = torch.optim.Adam(encoder.parameters(), lr=3e-3)
for epoch in range(4):
    for rows in torch.randperm(192).split(32):
        loss = criterion(encoder(distort(series[rows])), encoder(distort(series[rows])))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
