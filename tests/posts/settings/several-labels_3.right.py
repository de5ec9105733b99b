# line 29: the softmax of the scores is drawn to the normalised set of tags, though each tag is then decided by itself
import torch
import torch.nn.functional as F
from torch import nn

TAGS = ["rock", "live", "vocal", "fast", "sad"]


class AudioTagger(nn.Module):
    def __init__(self, bands=20):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(bands, 24, 3), nn.ReLU())
        self.tags = nn.Linear(24, len(TAGS))

    def forward(self, mel):
        return self.tags(self.conv(mel).mean(dim=2))


def songs(n):
    present = (torch.rand(n, len(TAGS)) < 0.35).float()
    present[torch.arange(n), torch.randint(len(TAGS), (n,))] = 1.0
    mel = 0.7 * torch.randn(n, 20, 16)
    mel += present.repeat_interleave(4, dim=1).unsqueeze(2)
    return mel, present


def tag_loss(scores, present):
    return F.binary_cross_entropy_with_logits(scores, present)


def f1(scores, present):
    chosen = scores.sigmoid().ge(0.5)
    both = (chosen & present.bool()).sum().item()
    return 2 * both / max(1, chosen.sum().item() + int(present.sum()))


torch.manual_seed(61)
mel, present = songs(480)
test_mel, test_present = songs(120)
tagger = AudioTagger()
opt = torch.optim.Adam(tagger.parameters(), lr=5e-3)
for epoch in range(5):
    tagger.train()
    for rows in torch.randperm(480).split(40):
        opt.zero_grad()
        tag_loss(tagger(mel[rows]), present[rows]).backward()
        opt.step()
    tagger.eval()
    with torch.no_grad():
        print("epoch", epoch, "micro f1", round(f1(tagger(test_mel), test_present), 3))
