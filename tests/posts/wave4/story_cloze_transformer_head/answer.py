import argparse
import math
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument('--seed', type=int, default=42)
parser.add_argument('--n_iter', type=int, default=2)
parser.add_argument('--n_batch', type=int, default=8)
parser.add_argument('--lr', type=float, default=6.25e-4)
parser.add_argument('--lm_coef', type=float, default=0.5)
args = parser.parse_args()
random.seed(args.seed)
np.random.seed(args.seed)
torch.manual_seed(args.seed)

n_vocab, n_ctx, n_embd, clf_token = 300, 24, 64, 299


class TransformerModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(n_vocab, n_embd)
        self.pos = nn.Parameter(torch.randn(n_ctx, n_embd) * 0.01)
        layer = nn.TransformerEncoderLayer(n_embd, 4, 4 * n_embd, 0.1, 'gelu', batch_first=True)
        self.h = nn.TransformerEncoder(layer, 2)

    def forward(self, x):
        mask = torch.full((x.size(1), x.size(1)), -math.inf).triu(1)
        return self.h(self.embed(x) + self.pos[:x.size(1)], mask=mask)


class LMHead(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.decoder = nn.Linear(n_embd, n_vocab, bias=False)
        self.decoder.weight = model.embed.weight

    def forward(self, h):
        return self.decoder(h[:, :-1])


class ClfHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.1)
        self.linear = nn.Linear(n_embd, 1)
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, h, x):
        clf_h = h[x == clf_token].view(-1, 2, n_embd)
        return self.linear(self.dropout(clf_h)).squeeze(-1)


def stories(n=44):
    x = np.random.randint(0, n_vocab - 1, (n, 2, n_ctx))
    y = np.random.randint(0, 2, n)
    x[np.arange(n), y, -5:] = 7
    x[:, :, -1] = clf_token
    return torch.as_tensor(x), torch.as_tensor(y)


model, clf_head = TransformerModel(), ClfHead()
lm_head = LMHead(model)
model_opt = torch.optim.Adam(list(model.parameters()) + list(clf_head.parameters()), lr=args.lr, betas=(0.9, 0.999))
trX, trY = stories()

for it in range(args.n_iter):
    order = torch.randperm(len(trX))
    for idx in order.split(args.n_batch):
        xmb, ymb = trX[idx].view(-1, n_ctx), trY[idx]
        h = model(xmb)
        lm_loss = F.cross_entropy(lm_head(h).flatten(0, 1), xmb[:, 1:].flatten())
        clf_loss = F.cross_entropy(clf_head(h, xmb), ymb)
        loss = clf_loss + args.lm_coef * lm_loss
        model_opt.zero_grad()
        loss.backward()
        model_opt.step()
    print(it, 'clf %.4f lm %.4f' % (clf_loss.item(), lm_loss.item()))
