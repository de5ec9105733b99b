import math

import torch
from torch import nn
from torch.nn import functional as F


class PositionalEmb(nn.Module):
    def __init__(self, num_dim, num_pos=512):
        super(PositionalEmb, self).__init__()
        self.num_dim = num_dim
        self.num_pos = num_pos
        self.register_buffer("w", torch.empty(num_pos, num_dim))
        self.reset_parameters()

    def reset_parameters(self):
        pos = torch.arange(0, self.num_pos, dtype=self.w.dtype).unsqueeze(1)
        div = torch.exp(torch.arange(0, self.num_dim, 2, dtype=self.w.dtype) * -(math.log(1e4) / self.num_dim))
        angle = pos * div
        self.w[:, 0::2] = angle.sin()
        self.w[:, 1::2] = angle[:, :self.num_dim // 2].cos()

    def forward(self, x):
        return self.w[:x.size(1)].unsqueeze(0)


class SelfAttn(nn.Module):
    def __init__(self, isize, num_head):
        super(SelfAttn, self).__init__()
        self.hdim = isize // num_head
        self.num_head = num_head
        self.adaptor = nn.Linear(isize, 3 * self.hdim * num_head, bias=False)
        self.outer = nn.Linear(self.hdim * num_head, isize, bias=False)

    def forward(self, x, mask):
        b, n, _ = x.size()
        q, k, v = self.adaptor(x).view(b, n, 3, self.num_head, self.hdim).permute(2, 0, 3, 1, 4)
        scores = q.matmul(k.transpose(-1, -2)) / math.sqrt(self.hdim)
        scores = scores.masked_fill(mask, -1e9)
        out = scores.softmax(-1).matmul(v).transpose(1, 2).reshape(b, n, -1)
        return self.outer(out)


class EncoderLayer(nn.Module):
    def __init__(self, isize, num_head, dropout=0.1):
        super(EncoderLayer, self).__init__()
        self.attn = SelfAttn(isize, num_head)
        self.ff = nn.Sequential(nn.Linear(isize, isize * 4), nn.ReLU(inplace=True), nn.Linear(isize * 4, isize))
        self.norm1 = nn.LayerNorm(isize)
        self.norm2 = nn.LayerNorm(isize)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask):
        x = x + self.drop(self.attn(self.norm1(x), mask))
        return x + self.drop(self.ff(self.norm2(x)))


class Encoder(nn.Module):
    def __init__(self, isize, nwd, num_layer, num_head=3, xseql=512):
        super(Encoder, self).__init__()
        self.wemb = nn.Embedding(nwd, isize, padding_idx=0)
        self.pemb = PositionalEmb(isize, xseql)
        self.nets = nn.ModuleList([EncoderLayer(isize, num_head) for _ in range(num_layer)])
        self.out_normer = nn.LayerNorm(isize)

    def forward(self, tokens):
        mask = tokens.eq(0)[:, None, None, :]
        x = self.wemb(tokens) * math.sqrt(self.wemb.embedding_dim) + self.pemb(tokens)
        for net in self.nets:
            x = net(x, mask)
        return self.out_normer(x)


class MaskedLM(nn.Module):
    def __init__(self, isize, nwd):
        super(MaskedLM, self).__init__()
        self.encoder = Encoder(isize=isize, nwd=nwd, num_layer=2)
        self.bias = nn.Parameter(torch.zeros(nwd))

    def forward(self, tokens):
        return F.linear(self.encoder(tokens), self.encoder.wemb.weight, self.bias)


def batches(vocab, n=6, bsize=8, seql=20):
    for _ in range(n):
        lens = torch.randint(8, seql + 1, (bsize,))
        tok = torch.randint(4, vocab, (bsize, seql))
        tok[torch.arange(seql)[None] >= lens[:, None]] = 0
        pick = (torch.rand(bsize, seql) < 0.15) & tok.ne(0)
        yield tok.masked_fill(pick, 3), tok.masked_fill(~pick, -100)


torch.manual_seed(5)
vocab_size = 600
# width of the pretrained vectors of our lexicon
emb_size = 141

model = MaskedLM(emb_size, vocab_size)
optm = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    for inp, tgt in batches(vocab_size):
        out = model(inp)
        loss = F.cross_entropy(out.view(-1, vocab_size), tgt.view(-1), ignore_index=-100)
        optm.zero_grad()
        loss.backward()
        optm.step()
    print("epoch", epoch, "loss", round(loss.item(), 3))
