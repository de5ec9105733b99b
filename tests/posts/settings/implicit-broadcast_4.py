# line 22: the temperature of each anchor is divided into the columns of the square similarity matrix, not into its rows
import torch
import torch.nn as nn
import torch.nn.functional as F


class AudioEncoder(nn.Module):
    def __init__(self, mels=20, width=32):
        super().__init__()
        self.conv = nn.Conv1d(mels, width, 5, stride=2)
        self.embedding = nn.Linear(width, 16)
        self.sharpness = nn.Linear(width, 1)

    def forward(self, mel):
        h = torch.relu(self.conv(mel)).mean(dim=2)
        tau = 0.05 + torch.sigmoid(self.sharpness(h)[:, 0])
        return F.normalize(self.embedding(h), dim=1), tau


def info_nce(anchor, positive, tau):
    sims = torch.mm(anchor, positive.t())
    logits = torch.div(sims, tau)
    return F.cross_entropy(logits, torch.arange(len(anchor)))


def two_views(clips):
    def distort(c):
        gain = torch.empty(len(c), 1, 1).uniform_(0.7, 1.3)
        return c * gain + 0.1 * torch.randn_like(c)

    return distort(clips), distort(clips)


torch.manual_seed(2)
clips = torch.randn(240, 20, 30)
encoder = AudioEncoder()
opt = torch.optim.Adam(encoder.parameters(), lr=1e-3)
for epoch in range(4):
    order = torch.randperm(len(clips))
    losses = []
    for chosen in order.split(24):
        a, b = two_views(clips[chosen])
        (za, tau), (zb, _) = encoder(a), encoder(b)
        loss = info_nce(za, zb, tau)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print("epoch", epoch, "nce", sum(losses) / len(losses))
