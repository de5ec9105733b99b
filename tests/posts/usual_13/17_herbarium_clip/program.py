"""CLIP-style pretraining on herbarium sheets and their label texts (toy scale)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
GENERA = 12
WORDS = 40


class HerbariumPairs(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.genus = torch.randint(0, GENERA, (n,), generator=g)
        proto = torch.randn(GENERA, 3, 16, 16, generator=torch.Generator().manual_seed(99))
        self.sheets = proto[self.genus] + 0.5 * torch.randn(n, 3, 16, 16, generator=g)
        self.texts = torch.randint(GENERA, WORDS, (n, 9), generator=g)
        self.texts[:, 3] = self.genus

    def __len__(self):
        return len(self.genus)

    def __getitem__(self, i):
        return self.sheets[i], self.texts[i]


class ImageTower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.GELU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.GELU(),
            nn.Flatten(), nn.Linear(64 * 4 * 4, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class TextTower(nn.Module):
    def __init__(self, dim, width=48):
        super().__init__()
        self.emb = nn.Embedding(WORDS, width)
        self.proj = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, dim))

    def forward(self, ids):
        return F.normalize(self.proj(self.emb(ids).mean(dim=1)), dim=-1)


class HerbCLIP(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.image = ImageTower(dim)
        self.text = TextTower(dim)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, sheets, texts):
        img, txt = self.image(sheets), self.text(texts)
        logits = self.logit_scale.exp() * (img @ txt)
        return logits


def clip_loss(logits):
    target = torch.arange(logits.size(0), device=logits.device)
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


@torch.no_grad()
def retrieval(model, data):
    model.eval()
    img = model.image(data.sheets)
    txt = model.text(data.texts)
    best = (img @ txt.T).argmax(dim=1)
    return (data.genus[best] == data.genus).float().mean().item()


train, held_out = HerbariumPairs(480, 1), HerbariumPairs(120, 2)
loader = DataLoader(train, batch_size=24, shuffle=True)
model = HerbCLIP()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(4):
    model.train()
    total = 0.0
    for sheets, texts in loader:
        loss = clip_loss(model(sheets, texts))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f}, genus retrieval {retrieval(model, held_out):.3f}")
