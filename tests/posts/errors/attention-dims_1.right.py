# line 11: kdim and vdim of the cross attention are left out though the text features are wider than the image features; mended by: giving kdim and vdim to MultiheadAttention
import torch
import torch.nn as nn


class CrossModalBlock(nn.Module):
    def __init__(self, img_dim, txt_dim, heads):
        super().__init__()
        self.norm_img = nn.LayerNorm(img_dim)
        self.norm_txt = nn.LayerNorm(txt_dim)
        self.attn = nn.MultiheadAttention(img_dim, heads, kdim=txt_dim, vdim=txt_dim, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(img_dim), nn.Linear(img_dim, 2 * img_dim), nn.GELU(), nn.Linear(2 * img_dim, img_dim))

    def forward(self, img, txt, txt_pad):
        t = self.norm_txt(txt)
        a, _ = self.attn(self.norm_img(img), t, t, key_padding_mask=txt_pad, need_weights=False)
        img = img + a
        return img + self.mlp(img)


class CaptionMatcher(nn.Module):
    def __init__(self, vocab=200, img_dim=32, txt_dim=48, depth=2):
        super().__init__()
        self.patch = nn.Conv2d(3, img_dim, 8, stride=8)
        self.words = nn.Embedding(vocab, txt_dim, padding_idx=0)
        self.blocks = nn.ModuleList(CrossModalBlock(img_dim, txt_dim, 4) for _ in range(depth))
        self.match = nn.Linear(img_dim, 1)

    def forward(self, image, caption):
        img = self.patch(image).flatten(2).transpose(1, 2)
        txt = self.words(caption)
        pad = caption == 0
        for blk in self.blocks:
            img = blk(img, txt, pad)
        return self.match(img.mean(1)).squeeze(-1)


def fake_pairs(n=32, length=9):
    image = torch.rand(n, 3, 32, 32)
    caption = torch.randint(1, 200, (n, length))
    lens = torch.randint(3, length + 1, (n, 1))
    caption[torch.arange(length)[None] >= lens] = 0
    matched = torch.randint(0, 2, (n,)).float()
    image[matched.bool(), 0] += 1.0
    return image, caption, matched


if __name__ == "__main__":
    torch.manual_seed(0)
    image, caption, matched = fake_pairs()
    model = CaptionMatcher()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(4):
        for sl in torch.arange(32).split(8):
            loss = bce(model(image[sl], caption[sl]), matched[sl])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, round(loss.item(), 3))
