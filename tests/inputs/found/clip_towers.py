import torch
import torch.nn as nn
import torch.nn.functional as F


class ImageEncoder(nn.Module):
    def __init__(self, image_size, patch, width, out):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, patch, stride=patch, bias=False)
        self.class_embedding = nn.Parameter(torch.randn(width))
        tokens = (image_size // patch) ** 2 + 1
        self.positional_embedding = nn.Parameter(torch.randn(tokens, width))
        layer = nn.TransformerEncoderLayer(width, 2, 2 * width, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, 1)
        self.proj = nn.Parameter(torch.randn(width, out))

    def forward(self, x):
        x = self.conv1(x)  # shape = [*, width, grid, grid]
        x = x.reshape(x.shape[0], x.shape[1], -1)  # shape = [*, width, grid ** 2]
        x = x.permute(0, 2, 1)  # shape = [*, grid ** 2, width]
        cls = self.class_embedding + torch.zeros(x.shape[0], 1, x.shape[-1])
        x = torch.cat([cls, x], dim=1)  # shape = [*, grid ** 2 + 1, width]
        x = self.transformer(x + self.positional_embedding)
        return x[:, 0, :] @ self.proj


class TextEncoder(nn.Module):
    def __init__(self, vocab, context, width, out):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, width)
        self.positional_embedding = nn.Parameter(torch.randn(context, width))
        layer = nn.TransformerEncoderLayer(width, 2, 2 * width, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.proj = nn.Linear(width, out, bias=False)

    def forward(self, ids, mask):
        x = self.token_embedding(ids) + self.positional_embedding[: ids.shape[1]]
        x = self.transformer(x, src_key_padding_mask=~mask.bool())
        weight = mask.unsqueeze(-1).to(x.dtype)
        return self.proj((x * weight).sum(1) / weight.sum(1).clamp(min=1))


class TwoTowers(nn.Module):
    def __init__(self, image_size=48, patch=16, vocab=100, context=20, width=16, out=8):
        super().__init__()
        self.visual = ImageEncoder(image_size, patch, width, out)
        self.text = TextEncoder(vocab, context, width, out)
        self.logit_scale = nn.Parameter(torch.ones([]) * 2.659)

    def forward(self, image, input_ids, attention_mask):
        image_features = F.normalize(self.visual(image), dim=-1)
        text_features = F.normalize(self.text(input_ids, attention_mask), dim=-1)
        logits_per_image = self.logit_scale.exp() * image_features @ text_features.t()
        return logits_per_image, logits_per_image.t()
