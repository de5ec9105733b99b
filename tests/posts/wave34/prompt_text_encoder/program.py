import torch
import torch.nn as nn
import torch.nn.functional as F

CONTEXT = 20
VOCAB = 300
EOT = VOCAB - 1


class ResBlock(nn.Module):
    def __init__(self, width, heads, batch_first):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=batch_first)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, width * 4), nn.GELU(), nn.Linear(width * 4, width))

    def forward(self, x, attn_mask=None):
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False, attn_mask=attn_mask)[0]
        return x + self.mlp(self.ln_2(x))


class Transformer(nn.Module):
    def __init__(self, width, layers, heads, batch_first=True):
        super().__init__()
        self.resblocks = nn.ModuleList([ResBlock(width, heads, batch_first) for _ in range(layers)])

    def forward(self, x, attn_mask=None):
        for block in self.resblocks:
            x = block(x, attn_mask=attn_mask)
        return x


class TextTower(nn.Module):
    def __init__(self, width=64, embed_dim=32, layers=2, heads=4):
        super().__init__()
        self.token_embedding = nn.Embedding(VOCAB, width)
        self.positional_embedding = nn.Parameter(torch.randn(CONTEXT, width) * 0.01)
        self.transformer = Transformer(width, layers, heads)
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(torch.randn(width, embed_dim) * width ** -0.5)
        mask = torch.full((CONTEXT, CONTEXT), float("-inf")).triu_(1)
        self.register_buffer("attn_mask", mask, persistent=False)


class OpenVocabBackbone(nn.Module):
    """Image trunk plus frozen text tower used as the classifier of mask proposals."""

    def __init__(self):
        super().__init__()
        self.clip_text = TextTower()
        self.trunk = nn.Sequential(nn.Conv2d(3, 32, 4, stride=4), nn.GELU(), nn.Conv2d(32, 32, 3, padding=1))
        self.logit_scale = nn.Parameter(torch.tensor(2.66))
        for p in self.clip_text.parameters():
            p.requires_grad_(False)

    def encode_text(self, text, normalize=True):
        x = self.clip_text.token_embedding(text)
        x = x + self.clip_text.positional_embedding
        x = x.permute(1, 0, 2)
        x = self.clip_text.transformer(x, attn_mask=self.clip_text.attn_mask)
        x = x.permute(1, 0, 2)
        x = self.clip_text.ln_final(x)
        x = x[torch.arange(x.shape[0]), text.argmax(dim=-1)] @ self.clip_text.text_projection
        return F.normalize(x, dim=-1) if normalize else x

    @torch.no_grad()
    def get_text_classifier(self, prompts, chunk=8):
        feats = [self.encode_text(prompts[i:i + chunk]) for i in range(0, len(prompts), chunk)]
        return torch.cat(feats, dim=0)

    def forward(self, images, masks, classifier):
        feat = self.trunk(images)
        masks = F.interpolate(masks, size=feat.shape[-2:], mode="bilinear", align_corners=False)
        area = masks.flatten(2).sum(-1, keepdim=True) + 1e-6
        pooled = torch.einsum("bqhw,bchw->bqc", masks, feat) / area
        return self.logit_scale.exp() * F.normalize(pooled, dim=-1) @ classifier.t()


def tokenize(n_classes):
    text = torch.zeros(n_classes, CONTEXT, dtype=torch.long)
    for i in range(n_classes):
        length = 3 + i % 6
        text[i, :length] = torch.randint(1, EOT, (length,))
        text[i, length] = EOT
    return text


def evaluate():
    torch.manual_seed(0)
    model = OpenVocabBackbone().eval()
    classifier = model.get_text_classifier(tokenize(24))
    print("classifier", tuple(classifier.shape))
    hits = total = 0
    for _ in range(3):
        images = torch.rand(2, 3, 64, 64)
        masks = torch.rand(2, 10, 64, 64)
        labels = torch.randint(0, 24, (2, 10))
        with torch.no_grad():
            logits = model(images, masks, classifier)
        hits += (logits.argmax(-1) == labels).sum().item()
        total += labels.numel()
    print("mask accuracy %.3f" % (hits / total))


if __name__ == "__main__":
    evaluate()
