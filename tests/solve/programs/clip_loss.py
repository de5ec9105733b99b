import torch
import torch.nn.functional as F
from torch import nn


class CLIP(nn.Module):
    """Image tower, text tower and the symmetric loss."""

    def __init__(self, dim=8, vocab=30, context_length=12):
        super().__init__()
        self.visual = nn.Sequential(
            nn.Conv2d(3, 8, 4, stride=4),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.token_embedding = nn.Embedding(vocab, dim)
        self.positional_embedding = nn.Parameter(torch.zeros(context_length, dim))
        self.text_projection = nn.Linear(dim, dim)
        self.logit_scale = nn.Parameter(torch.tensor(2.6))

    def encode_text(self, text):
        x = self.token_embedding(text)
        x = x + self.positional_embedding
        return self.text_projection(x.mean(dim=1))

    def forward(self, image, text):
        image_features = F.normalize(self.visual(image), dim=-1)
        text_features = F.normalize(self.encode_text(text), dim=-1)
        logits = self.logit_scale.exp() * image_features @ text_features.t()
        labels = torch.arange(image.shape[0])
        loss_image = F.cross_entropy(logits, labels)
        loss_text = F.cross_entropy(logits.t(), labels)
        return (loss_image + loss_text) / 2, logits
