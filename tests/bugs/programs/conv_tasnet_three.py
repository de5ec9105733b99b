import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Two speakers in one recording."""

    def __init__(self, n_src=2, n_filters=24, kernel=8, bottleneck=12, blocks=3):
        super().__init__()
        self.n_src = n_src
        hop = kernel // 2
        self.encoder = nn.Conv1d(1, n_filters, kernel, stride=hop, bias=False)
        self.norm = nn.GroupNorm(1, n_filters)
        self.squeeze = nn.Conv1d(n_filters, bottleneck, 1)
        self.tcn = nn.ModuleList(
            nn.Conv1d(bottleneck, bottleneck, 3, padding=2**i, dilation=2**i)
            for i in range(blocks)
        )
        self.mask = nn.Conv1d(bottleneck, n_filters, 1)
        self.decoder = nn.ConvTranspose1d(bottleneck, 1, kernel, stride=hop, bias=False)

    def separate(self, mix):
        w = F.relu(self.encoder(mix.unsqueeze(1)))
        h = self.squeeze(self.norm(w))
        for conv in self.tcn:
            h = h + F.relu(conv(h))
        B, N, K = w.shape
        m = torch.sigmoid(self.mask(h)).view(B, self.n_src, N, K)
        s = (w.unsqueeze(1) * m).flatten(0, 1)
        return self.decoder(s).view(B, self.n_src, -1)

    def forward(self, mix, sources):
        est = self.separate(mix)
        est = est - est.mean(-1, keepdim=True)
        ref = sources
        ref = ref - ref.mean(-1, keepdim=True)
        dot = (est.unsqueeze(2) * ref.unsqueeze(1)).sum(-1, keepdim=True)
        power = ref.square().sum(-1)[:, None, :, None]
        proj = dot * ref.unsqueeze(1) / power
        noise = est.unsqueeze(2) - proj
        snr = 10 * torch.log10(proj.square().sum(-1) / noise.square().sum(-1))
        straight = snr.diagonal(dim1=1, dim2=2).mean(-1)
        crossed = snr.flip(1).diagonal(dim1=1, dim2=2).mean(-1)
        return -torch.maximum(straight, crossed).mean(), est


def example_inputs():
    return torch.randn(3, 200), torch.randn(3, 200, 2)
