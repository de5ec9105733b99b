# line 39: the class centres of the margin loss are parameters of the criterion and no optimizer gets them
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(48)


class AngularMargin(nn.Module):
    def __init__(self, dim, speakers, margin=0.2, scale=12.0):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(speakers, dim) / math.sqrt(dim))
        self.margin, self.scale = margin, scale

    def forward(self, voice, speaker):
        cosine = F.linear(F.normalize(voice), F.normalize(self.centres)).clamp(-0.999, 0.999)
        pushed = torch.cos(torch.acos(cosine) + self.margin)
        own = F.one_hot(speaker, cosine.size(1)).bool()
        return F.cross_entropy(self.scale * torch.where(own, pushed, cosine), speaker)


class VoiceNet(nn.Module):
    def __init__(self, mels=16, dim=12):
        super().__init__()
        self.conv = nn.Conv1d(mels, 32, 5, padding=2)
        self.fc = nn.Linear(64, dim)

    def forward(self, mel):
        h = self.conv(mel).relu()
        return self.fc(torch.cat([h.mean(-1), h.std(-1)], dim=1))


def configure(net, criterion, lr):
    decayed = [p for p in net.parameters() if p.ndim > 1]
    plain = [p for p in net.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": 1e-4}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


speaker = torch.randint(8, (240,))
mel = torch.randn(240, 16, 24) + torch.randn(8, 16, 1)[speaker]
net, criterion = VoiceNet(), AngularMargin(12, 8)
opt = configure(net, criterion, 3e-3)
for epoch in range(4):
    for rows in torch.randperm(240).split(40):
        loss = criterion(net(mel[rows]), speaker[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
