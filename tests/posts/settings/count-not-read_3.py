# line 59: the perplexity of the held-out text divides by the tokens of the training loop; dev_tokens is never read
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
WORDS, CONTEXT = 30, 3
chain = torch.softmax(3 * torch.randn(WORDS, WORDS), dim=1)


def write_text(n):
    word, text = 0, []
    for _ in range(n):
        word = torch.multinomial(chain[word], 1).item()
        text.append(word)
    return torch.tensor(text)


def context_batches(text, size, shuffle):
    grams = text.unfold(0, CONTEXT + 1, 1)
    order = torch.randperm(len(grams)) if shuffle else torch.arange(len(grams))
    for rows in order.split(size):
        yield grams[rows, :-1], grams[rows, -1]


class NPLM(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.emb = nn.Embedding(WORDS, dim)
        self.mlp = nn.Sequential(nn.Flatten(), nn.Linear(CONTEXT * dim, 40), nn.Tanh(), nn.Linear(40, WORDS))

    def forward(self, context):
        return self.mlp(self.emb(context))


lm = NPLM()
optimizer = torch.optim.Adam(lm.parameters(), lr=5e-3)
train_text, dev_text = write_text(1500), write_text(400)

for epoch in range(4):
    train_nll, train_tokens, dev_nll, dev_tokens = 0.0, 0, 0.0, 0
    lm.train()
    for context, word in context_batches(train_text, 50, True):
        optimizer.zero_grad()
        loss = F.cross_entropy(lm(context), word)
        loss.backward()
        optimizer.step()
        train_nll += loss.item() * word.numel()
        train_tokens += word.numel()
    train_ppl = math.exp(train_nll / train_tokens)

    lm.eval()
    with torch.no_grad():
        for context, word in context_batches(dev_text, 50, False):
            dev_nll += F.cross_entropy(lm(context), word, reduction="sum").item()
            dev_tokens += word.numel()
    dev_ppl = math.exp(dev_nll / train_tokens)
    print(f"epoch {epoch} ppl {train_ppl:.2f} dev ppl {dev_ppl:.2f}")
