import copy
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class PairDataset(Dataset):
    """Image and caption of the same 'object', a random colour pattern."""

    def __init__(self, n=256, vocab=64, ctx=8, seed=0):
        rng = np.random.default_rng(seed)
        self.words = torch.from_numpy(rng.integers(1, vocab, (n, ctx)))
        basis = torch.from_numpy(rng.normal(size=(vocab, 3 * 8 * 8))).float()
        self.images = basis[self.words].mean(dim=1).view(n, 3, 8, 8)
        self.images = F.interpolate(self.images, scale_factor=2) + 0.05 * torch.randn(n, 3, 16, 16)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return self.images[i], self.words[i]


class VisualEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 32, 4, stride=2), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2), nn.ReLU())
        self.proj = nn.Linear(64 * 3 * 3, dim)

    def forward(self, x):
        return self.proj(self.conv(x).flatten(1))


class TextEncoder(nn.Module):
    def __init__(self, dim, vocab=64, width=64, ctx=8):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, width)
        self.positional_embedding = nn.Parameter(0.01 * torch.randn(ctx, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, 1)
        self.text_projection = nn.Linear(width, dim, bias=False)

    def forward(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        return self.text_projection(self.transformer(x).mean(dim=1))


class CLIP(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.visual = VisualEncoder(dim)
        self.text = TextEncoder(dim)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))


class CLIPWrapper(nn.Module):
    def __init__(self, minibatch_size=16):
        super().__init__()
        self.model = CLIP()
        self.minibatch_size = minibatch_size
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.2)

    def training_step(self, batch):
        image, text = batch
        n = math.ceil(len(image) / self.minibatch_size)
        image_mbs, text_mbs = torch.chunk(image, n), torch.chunk(text, n)

        with torch.no_grad():
            ims = [F.normalize(self.model.visual(im), dim=1) for im in image_mbs]
            txt = [F.normalize(self.model.text(t), dim=1) for t in text_mbs]
            image_logits = torch.cat(ims) @ torch.cat(txt).t() * self.model.logit_scale.exp()
            ground_truth = torch.arange(len(image_logits))
            loss = (F.cross_entropy(image_logits, ground_truth) + F.cross_entropy(image_logits.t(), ground_truth)) / 2
            acc_i = (torch.argmax(image_logits) == ground_truth).sum()
            acc_t = (torch.argmax(image_logits.t()) == ground_truth).sum()
        log = {"loss": loss.item(), "acc": (acc_i + acc_t).item() / 2 / len(image)}

        self.opt.zero_grad()
        for j, mb in enumerate(image_mbs):
            images_tmp = copy.copy(ims)
            images_tmp[j] = F.normalize(self.model.visual(mb), dim=1)
            logits = torch.cat(images_tmp) @ torch.cat(txt).t() * self.model.logit_scale.exp()
            ((F.cross_entropy(logits, ground_truth) + F.cross_entropy(logits.t(), ground_truth)) / 2).backward()
        for j, mb in enumerate(text_mbs):
            text_tmp = copy.copy(txt)
            text_tmp[j] = F.normalize(self.model.text(mb), dim=1)
            logits = torch.cat(ims) @ torch.cat(text_tmp).t() * self.model.logit_scale.exp()
            ((F.cross_entropy(logits, ground_truth) + F.cross_entropy(logits.t(), ground_truth)) / 2).backward()
        self.opt.step()
        with torch.no_grad():
            self.model.logit_scale.clamp_(0, math.log(100))
        return log


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(PairDataset(), batch_size=64, shuffle=True)
    wrapper = CLIPWrapper()
    for epoch in range(6):
        logs = [wrapper.training_step(batch) for batch in loader]
        print(f"epoch {epoch} loss {np.mean([l['loss'] for l in logs]):.3f} acc {np.mean([l['acc'] for l in logs]):.4f}")
