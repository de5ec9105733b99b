import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

PAD, BOS, EOS = 0, 1, 2

HPARAMS = {
    'emsize': 64,
    'nhid': 128,
    'nlayers': 1,
    'dropout': 0.2,
    'bidirection': True,
    'lr': 1e-3,
}


class QueryLog(Dataset):
    def __init__(self, n_pairs, vocab_size, seed=0):
        rng = random.Random(seed)
        self.pairs = []
        for _ in range(n_pairs):
            q = [rng.randint(3, vocab_size - 1) for _ in range(rng.randint(2, 6))]
            nxt = q[:-1] + [rng.randint(3, vocab_size - 1)]
            self.pairs.append((q, nxt))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]


def batchify(batch):
    src_len = max(len(q) for q, _ in batch)
    tgt_len = max(len(t) for _, t in batch) + 2
    src = torch.zeros(len(batch), src_len, dtype=torch.long)
    tgt = torch.zeros(len(batch), tgt_len, dtype=torch.long)
    for i, (q, t) in enumerate(batch):
        src[i, :len(q)] = torch.tensor(q)
        seq = [BOS] + t + [EOS]
        tgt[i, :len(seq)] = torch.tensor(seq)
    return src, tgt


class Encoder(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.ndir = 2 if args['bidirection'] else 1
        self.rnn = nn.LSTM(args['emsize'], args['nhid'] // self.ndir, args['nlayers'],
                           batch_first=True, bidirectional=args['bidirection'])

    def forward(self, emb):
        memory, (h, c) = self.rnn(emb)
        return memory, (h[-self.ndir:], c[-self.ndir:])


class Decoder(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.bidirectional = args['bidirection']
        self.rnn = nn.LSTM(args['emsize'], args['nhid'], args['nlayers'], batch_first=True)
        self.attn = nn.Linear(args['nhid'], args['nhid'], bias=False)
        self.combine = nn.Linear(2 * args['nhid'], args['nhid'])

    def init_state(self, enc_state):
        def fix(h):
            if self.bidirectional:
                h = torch.cat([h[0:h.size(0):2], h[1:h.size(0):2]], 2)
            return h
        return tuple(fix(h) for h in enc_state)

    def forward(self, emb, memory, mask, state):
        out, state = self.rnn(emb, state)
        scores = torch.bmm(self.attn(out), memory.transpose(1, 2))
        scores = scores.masked_fill(mask.unsqueeze(1), float('-inf'))
        ctx = torch.bmm(F.softmax(scores, dim=-1), memory)
        return torch.tanh(self.combine(torch.cat([out, ctx], dim=-1)))


class Seq2Seq(nn.Module):
    def __init__(self, vocab_size, args):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, args['emsize'], padding_idx=PAD)
        self.dropout = nn.Dropout(args['dropout'])
        self.encoder = Encoder(args)
        self.decoder = Decoder(args)
        self.generator = nn.Linear(args['nhid'], vocab_size)

    def forward(self, src, tgt):
        memory, enc_state = self.encoder(self.dropout(self.embedding(src)))
        state = self.decoder.init_state(enc_state)
        emb = self.dropout(self.embedding(tgt[:, :-1]))
        out = self.decoder(emb, memory, src.eq(PAD), state)
        return self.generator(out)


def main():
    torch.manual_seed(1)
    vocab_size = 200
    loader = DataLoader(QueryLog(160, vocab_size), batch_size=8, shuffle=True, collate_fn=batchify)
    model = Seq2Seq(vocab_size, HPARAMS)
    optimizer = torch.optim.Adam(model.parameters(), lr=HPARAMS['lr'])
    for epoch in range(3):
        model.train()
        total, count = 0.0, 0
        for src, tgt in loader:
            logits = model(src, tgt)
            loss = F.cross_entropy(logits.reshape(-1, vocab_size), tgt[:, 1:].reshape(-1),
                                   ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item()
            count += 1
        print('epoch {:d} loss {:.3f}'.format(epoch + 1, total / count))


if __name__ == '__main__':
    main()
