# line 21: each word's attention over the regions of the image is normalised over the words, not over the regions
import torch
import torch.nn.functional as F
from torch import nn


class CrossModalScorer(nn.Module):
    """Scores a caption against an image by attending from words to regions."""

    def __init__(self, vocab=80, region_dim=20, dim=24, temperature=4.0):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.regions = nn.Linear(region_dim, dim)
        self.temperature = temperature
        self.out = nn.Linear(dim, 1)

    def attend(self, words, regions):
        sim = torch.bmm(F.normalize(words, dim=-1), F.normalize(regions, dim=-1).transpose(1, 2))
        sim = self.temperature * sim
        e = torch.exp(sim - sim.amax(dim=(1, 2), keepdim=True))
        att = e / torch.sum(e, 2, keepdim=True)
        return torch.bmm(att, regions)

    def forward(self, caption, image):
        words, regions = self.words(caption), self.regions(image)
        context = self.attend(words, regions)
        return self.out((words * context).mean(dim=1)).squeeze(-1)


def make_pairs(n, generator):
    caption = torch.randint(80, (n, 7), generator=generator)
    image = torch.randn(n, 11, 20, generator=generator)
    match = (image[:, 0, 0] + 0.02 * (caption[:, 0] - 40) > 0).float()
    return caption, image, match


g = torch.Generator().manual_seed(0)
torch.manual_seed(0)
scorer = CrossModalScorer()
opt = torch.optim.AdamW(scorer.parameters(), lr=3e-3)
for step in range(60):
    caption, image, match = make_pairs(32, g)
    opt.zero_grad(set_to_none=True)
    loss = F.binary_cross_entropy_with_logits(scorer(caption, image), match)
    loss.backward()
    opt.step()
scorer.eval()
with torch.inference_mode():
    caption, image, match = make_pairs(200, g)
    hit = ((scorer(caption, image) > 0) == match.bool()).float().mean()
print("matching accuracy", round(hit.item(), 3))
