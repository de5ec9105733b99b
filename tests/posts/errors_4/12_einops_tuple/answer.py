import torch
import torch.nn as nn
from einops import rearrange, reduce


class FrameEncoder(nn.Module):
    """Video clips: a conv per frame, a GRU over time, a linear classifier."""

    def __init__(self, n_classes=5):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU())
        self.rnn = nn.GRU(8, 24, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(48, n_classes)

    def forward(self, clip):
        b = clip.shape[0]
        frames = rearrange(clip, "b t c h w -> (b t) c h w")
        feats = reduce(self.conv(frames), "(b t) c h w -> b t c", "mean", b=b)
        hidden, _ = self.rnn(feats)
        pooled = reduce(hidden, "b t d -> b d", "max")
        return self.fc(pooled)


torch.manual_seed(0)
clips = torch.rand(12, 6, 3, 32, 32)
labels = torch.randint(0, 5, (12,))
model = FrameEncoder()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    for idx in torch.randperm(12).split(4):
        loss = nn.functional.cross_entropy(model(clips[idx]), labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
