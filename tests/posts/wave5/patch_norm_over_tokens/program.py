import torch
import torch.nn as nn


class TinyCLIP(nn.Module):
    def __init__(self, dim=32, vocab=50, patch=8):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, patch, stride=patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, batch_first=True, dropout=0.0)
        self.visual = nn.TransformerEncoder(layer, 2)
        self.token_embedding = nn.Embedding(vocab, dim)
        self.text_projection = nn.Linear(dim, dim)

    def encode_image(self, image):
        x = self.patch_embed(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], dim=1)
        return self.visual(x)

    def encode_text(self, tokens):
        return self.text_projection(self.token_embedding(tokens).mean(1))


def similarity_map(sm, shape):
    side = int(sm.shape[1] ** 0.5)
    sm = (sm - sm.min(1, keepdim=True)[0]) / (sm.max(1, keepdim=True)[0] - sm.min(1, keepdim=True)[0])
    sm = sm.reshape(sm.shape[0], side, side, -1).permute(0, 3, 1, 2)
    sm = torch.nn.functional.interpolate(sm, shape, mode="bilinear")
    return sm.permute(0, 2, 3, 1)


torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = TinyCLIP().to(device).eval()

image = torch.rand(4, 3, 56, 56).to(device)
all_texts = ["bed", "cat", "dog", "sofa", "table"]
tokens = torch.randint(0, 50, (len(all_texts), 6)).to(device)

with torch.no_grad():
    image_features = model.encode_image(image)
    image_features = image_features / image_features.norm(dim=1, keepdim=True)
    text_features = model.encode_text(tokens)
    text_features = text_features / text_features.norm(dim=-1, keepdim=True)

    similarity = image_features @ text_features.t()
    maps = similarity_map(similarity[:, 1:, :], image.shape[2:])

print("maps", maps.shape)
for n, text in enumerate(all_texts):
    print(text, "mean similarity %.3f" % similarity[:, 1:, n].mean().item())
