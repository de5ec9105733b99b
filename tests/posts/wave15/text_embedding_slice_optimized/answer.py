import torch
import torch.nn as nn
import torch.nn.functional as F

PART_NAMES = ["background", "head", "body", "legs"]
MAX_LEN = 12


class TinyTextEncoder(nn.Module):
    def __init__(self, vocab=40, dim=32):
        super().__init__()
        self.token = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.randn(MAX_LEN, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)

    def forward(self, ids):
        return self.encoder(self.token(ids) + self.position)


class CrossAttentionMaps(nn.Module):
    """the frozen image model: where does the picture look at each word"""

    def __init__(self, dim=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, dim, 3, padding=1), nn.ReLU(), nn.Conv2d(dim, dim, 3, padding=1))
        self.to_q = nn.Conv2d(dim, dim, 1)
        self.to_k = nn.Linear(dim, dim)

    def forward(self, image, words):
        q = self.to_q(self.features(image)).flatten(2)
        k = self.to_k(words)
        scores = torch.einsum("bdp,ld->blp", q, k) * k.size(-1) ** -0.5
        b, _, h, w = image.shape
        return scores.view(b, -1, h, w)


def one_example(size=24):
    """a picture of a figure with its part labels, the only one that we have a mask of"""
    mask = torch.zeros(size, size, dtype=torch.long)
    mask[3:8, 9:15] = 1
    mask[8:15, 7:17] = 2
    mask[15:22, 9:15] = 3
    colours = torch.tensor([[0.1, 0.2, 0.1], [0.9, 0.7, 0.6], [0.2, 0.2, 0.9], [0.5, 0.3, 0.1]])
    image = colours[mask].permute(2, 0, 1)
    return image + 0.05 * torch.randn_like(image), mask


class PartSegmenter:
    def __init__(self, lr=0.1):
        self.text_encoder = TinyTextEncoder()
        self.attention = CrossAttentionMaps()
        for p in self.attention.parameters():
            p.requires_grad_(False)
        self.lr = lr

    def initial_embedding(self):
        ids = torch.zeros(1, MAX_LEN, dtype=torch.long)
        ids[0, 1:1 + len(PART_NAMES)] = torch.arange(5, 5 + len(PART_NAMES))
        return self.text_encoder(ids)[0]

    def configure(self):
        self.text_embedding = self.initial_embedding()
        n = len(PART_NAMES)
        self.embeddings_to_optimize = self.text_embedding[1:1 + n].detach().clone()
        self.embeddings_to_optimize.requires_grad_(True)
        return torch.optim.Adam([self.embeddings_to_optimize], lr=self.lr)

    def fit(self, image, mask, steps=60):
        optimizer = self.configure()
        for step in range(steps):
            maps = self.attention(image[None], self.embeddings_to_optimize)
            loss = F.cross_entropy(maps, mask[None])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 20 == 0:
                print(f"step {step:3d} loss {loss.item():.4f}")

    @torch.no_grad()
    def iou(self, image, mask):
        pred = self.attention(image[None], self.embeddings_to_optimize).argmax(dim=1)[0]
        out = {}
        for k, name in enumerate(PART_NAMES):
            inter = ((pred == k) & (mask == k)).sum()
            union = ((pred == k) | (mask == k)).sum()
            out[name] = round(float(inter / union.clamp(min=1)), 2)
        return out


def main():
    torch.manual_seed(0)
    image, mask = one_example()
    segmenter = PartSegmenter()
    segmenter.fit(image, mask)
    print(segmenter.iou(image, mask))


if __name__ == "__main__":
    main()
