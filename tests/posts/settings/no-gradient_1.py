# line 19: the learned temperature is read with item(), so it never gets a gradient
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(49)


class CaptionMatcher(nn.Module):
    def __init__(self, vocab=90, dim=20):
        super().__init__()
        self.vision = nn.Sequential(nn.Conv2d(3, 12, 4, 4), nn.ReLU(), nn.Flatten(), nn.Linear(108, dim))
        self.words = nn.EmbeddingBag(vocab, dim)
        self.log_scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, image, caption):
        a = F.normalize(self.vision(image), dim=-1)
        b = F.normalize(self.words(caption), dim=-1)
        return a @ b.t() * self.log_scale.exp().item()


def clip_loss(scores):
    own = torch.arange(scores.size(0))
    return (F.cross_entropy(scores, own) + F.cross_entropy(scores.t(), own)) / 2


kind = torch.arange(192) % 30
patterns = torch.randn(30, 3, 12, 12)
image = patterns[kind] + 0.3 * torch.randn(192, 3, 12, 12)
caption = kind[:, None] * 3 + torch.randint(3, (192, 5))
model = CaptionMatcher()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
for epoch in range(5):
    for rows in torch.randperm(192).split(24):
        loss = clip_loss(model(image[rows], caption[rows]))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
