import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser(description='LM with segment memory')
parser.add_argument('--d_model', type=int, default=32)
parser.add_argument('--n_layer', type=int, default=2)
parser.add_argument('--bptt', type=int, default=6)
parser.add_argument('--ext_len', type=int, default=4)
parser.add_argument('--mem_len', type=int, default=24)
parser.add_argument('--steps', type=int, default=60)
args = parser.parse_args()


class OrderedIterator(object):
    def __init__(self, stream, bsz, bptt, ext_len):
        n = stream.size(0) // bsz
        self.data = stream[:n * bsz].view(bsz, -1).t().contiguous()
        self.bptt, self.ext_len = bptt, ext_len

    def __iter__(self):
        for i in range(0, self.data.size(0) - 1, self.bptt):
            seq_len = min(self.bptt, self.data.size(0) - 1 - i)
            end, beg = i + seq_len, max(0, i - self.ext_len)
            yield self.data[beg:end], self.data[i + 1:i + 1 + seq_len]


class MemLayer(nn.Module):
    def __init__(self, d):
        super(MemLayer, self).__init__()
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, h, mem, mask):
        c = torch.cat([mem, h], 0)
        k, v = self.kv(c).chunk(2, dim=-1)
        score = torch.einsum('ibd,jbd->bij', self.q(h), k) / h.size(-1) ** 0.5
        prob = torch.softmax(score.masked_fill(mask[None], float('-inf')), dim=-1)
        h = self.ln1(h + self.o(torch.einsum('bij,jbd->ibd', prob, v)))
        return self.ln2(h + self.ff(h))


class MemLM(nn.Module):
    def __init__(self, n_token, d, n_layer, ext_len, mem_len):
        super(MemLM, self).__init__()
        self.emb = nn.Embedding(n_token, d)
        self.layers = nn.ModuleList([MemLayer(d) for _ in range(n_layer)])
        self.out = nn.Linear(d, n_token)
        self.d, self.ext_len, self.mem_len = d, ext_len, mem_len

    def init_mems(self, bsz):
        return [torch.empty(0, bsz, self.d) for _ in range(len(self.layers) + 1)]

    def _update_mems(self, hids, mems, qlen, mlen):
        with torch.no_grad():
            end_idx = mlen + max(0, qlen - self.ext_len)
            beg_idx = max(0, end_idx - self.mem_len)
            return [torch.cat([m, h], 0)[beg_idx:end_idx].detach() for m, h in zip(mems, hids)]

    def forward(self, data, target, mems):
        qlen, mlen = data.size(0), mems[0].size(0)
        h = self.emb(data)
        mask = torch.triu(torch.ones(qlen, mlen + qlen), diagonal=1 + mlen).bool()
        hids = [h]
        for layer, mem in zip(self.layers, mems):
            h = layer(h, mem, mask)
            hids.append(h)
        new_mems = self._update_mems(hids, mems, qlen, mlen)
        logit = self.out(h[-target.size(0):])
        loss = F.cross_entropy(logit.flatten(0, 1), target.flatten())
        return loss, new_mems


torch.manual_seed(1111)
base = torch.randint(0, 40, (17,))
stream = base.repeat(200)[:2400]
corrupt = torch.rand(2400) < 0.1
stream = torch.where(corrupt, torch.randint(0, 40, (2400,)), stream)

model = MemLM(40, args.d_model, args.n_layer, args.ext_len, args.mem_len)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

step = 0
while step < args.steps:
    mems = model.init_mems(8)
    for data, target in OrderedIterator(stream[:2000], 8, args.bptt, args.ext_len):
        loss, mems = model(data, target, mems)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step >= args.steps:
            break
print('train loss %.3f' % loss.item())

model.eval()
with torch.no_grad():
    mems, total, count = model.init_mems(4), 0.0, 0
    for data, target in OrderedIterator(stream[2000:], 4, args.bptt, args.ext_len):
        loss, mems = model(data, target, mems)
        total += loss.item() * target.numel()
        count += target.numel()
        if count <= 4 * args.bptt * 3:
            print('input %d memory %d' % (data.size(0), mems[0].size(0)))
print('valid loss %.4f' % (total / count))
