import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange

TEXT_LEN, IMAGE_LEN = 12, 9
NUM_TEXT, NUM_IMAGE = 30, 16


class CausalTransformer(nn.Module):
    def __init__(self, dim, depth=2, heads=4):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, depth)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.layers(x, mask=mask, is_causal=True)


class TextToImage(nn.Module):
    """one stream of caption tokens (padded with 0) and codebook tokens of the picture"""

    def __init__(self, dim=32, ignore_index=0):
        super().__init__()
        self.ignore_index = ignore_index
        self.text_emb = nn.Embedding(NUM_TEXT, dim)
        self.image_emb = nn.Embedding(NUM_IMAGE, dim)
        self.pos_emb = nn.Parameter(0.02 * torch.randn(TEXT_LEN + IMAGE_LEN, dim))
        self.transformer = CausalTransformer(dim)
        self.to_logits = nn.Linear(dim, NUM_TEXT + NUM_IMAGE)

    def forward(self, text, image, return_loss=False):
        tokens = torch.cat([self.text_emb(text), self.image_emb(image)], dim=1)
        logits = self.to_logits(self.transformer(tokens + self.pos_emb))
        if not return_loss:
            return logits
        labels = torch.cat([text[:, 1:], image + NUM_TEXT], dim=1)
        loss = F.cross_entropy(rearrange(logits[:, :-1], 'b n c -> b c n'), labels, ignore_index=self.ignore_index)
        return loss


def captions_and_codes(n):
    """short captions of 3 to 5 words; each word decides some of the codes of the picture"""
    gen = torch.Generator().manual_seed(51)
    words = torch.randint(1, NUM_TEXT, (n, TEXT_LEN), generator=gen)
    length = torch.randint(3, 6, (n, 1), generator=gen)
    text = torch.where(torch.arange(TEXT_LEN) < length, words, torch.zeros_like(words))
    image = (text[:, :3].repeat_interleave(3, dim=1) + torch.arange(IMAGE_LEN)) % NUM_IMAGE
    return text, image


@torch.no_grad()
def report(model, text, image):
    logits = model(text, image)[:, :-1]
    log_p = F.log_softmax(logits, dim=-1)
    on_text = log_p[:, :TEXT_LEN - 1].gather(2, text[:, 1:, None]).squeeze(2)
    real = text[:, 1:] != 0
    on_image = log_p[:, TEXT_LEN - 1:].gather(2, image[:, :, None] + NUM_TEXT).squeeze(2)
    return -on_text[real].mean().item(), -on_image.mean().item()


def main():
    torch.manual_seed(0)
    text, image = captions_and_codes(640)
    train_t, train_i, val_t, val_i = text[:512], image[:512], text[512:], image[512:]
    model = TextToImage()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        for idx in torch.randperm(len(train_t)).split(64):
            loss = model(train_t[idx], train_i[idx], return_loss=True)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        words, codes = report(model, val_t, val_i)
        print("epoch %d loss %.3f val: words %.3f codes %.3f" % (epoch, loss.item(), words, codes))


if __name__ == "__main__":
    main()
