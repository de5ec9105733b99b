# line 40: the warm-up function returns a learning rate, by which LambdaLR multiplies the rate of the optimizer
import math

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


class CosineWarmup:
    def __init__(self, peak, warmup, total):
        self.peak, self.warmup, self.total = peak, warmup, total

    def __call__(self, step):
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        progress = (step - self.warmup) / (self.total - self.warmup)
        return self.peak * 0.5 * (1 + math.cos(math.pi * progress))


class Translator(nn.Module):
    def __init__(self, vocab=30, dim=24):
        super().__init__()
        self.src, self.tgt = nn.Embedding(vocab, dim), nn.Embedding(vocab, dim)
        self.core = nn.Transformer(dim, 2, 1, 1, 48, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        return self.out(self.core(self.src(src), self.tgt(tgt), tgt_mask=mask, tgt_is_causal=True))


torch.manual_seed(74)
source = torch.randint(3, 30, (200, 6))
start = torch.full((200, 1), 1)
target = torch.cat([start, source.flip(1)], dim=1)
peak, epochs, size = 3e-3, 4, 25
model = Translator()
optimizer = torch.optim.AdamW(model.parameters(), lr=peak)
schedule = CosineWarmup(peak, warmup=6, total=epochs * 200 // size)
scheduler = LambdaLR(optimizer, lr_lambda=schedule)
for epoch in range(epochs):
    for rows in torch.randperm(200).split(size):
        scores = model(source[rows], target[rows, :-1])
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), target[rows, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(epoch, loss.item())
