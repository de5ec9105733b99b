import time

import numpy as np
import torch
import torch.nn as nn

VOCAB, D_MODEL, FEAT = 60, 32, 20
PAD, BOS, EOS = 0, 1, 2


class Batch:
    def __init__(self, query, video, trg):
        self.query = query
        self.video = video
        self.trg = trg[:, :-1]
        self.trg_y = trg[:, 1:]
        self.ntokens = (self.trg_y != PAD).sum().item()


def make_batches(n_batches, batch_size, seed):
    gen = torch.Generator().manual_seed(seed)
    batches = []
    for _ in range(n_batches):
        query = torch.randint(3, VOCAB, (batch_size, 8), generator=gen)
        video = torch.randn(batch_size, 12, FEAT, generator=gen)
        answer = query.flip(1)[:, :6]
        bos = torch.full((batch_size, 1), BOS)
        eos = torch.full((batch_size, 1), EOS)
        batches.append(Batch(query, video, torch.cat([bos, answer, eos], dim=1)))
    return batches


class VideoDialog(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, D_MODEL, padding_idx=PAD)
        self.position = nn.Parameter(torch.randn(1, 16, D_MODEL) * 0.02)
        self.video_proj = nn.Linear(FEAT, D_MODEL)
        enc = nn.TransformerEncoderLayer(D_MODEL, 4, 64, dropout=0.1, batch_first=True)
        dec = nn.TransformerDecoderLayer(D_MODEL, 4, 64, dropout=0.1, batch_first=True)
        self.query_encoder = nn.TransformerEncoder(enc, 1)
        self.decoder = nn.TransformerDecoder(dec, 2)
        self.generator = nn.Linear(D_MODEL, VOCAB)

    def forward(self, query, video, trg):
        q = self.query_encoder(self.embed(query) + self.position[:, :query.size(1)])
        memory = torch.cat([q, self.video_proj(video)], dim=1)
        mask = nn.Transformer.generate_square_subsequent_mask(trg.size(1))
        t = self.embed(trg) + self.position[:, :trg.size(1)]
        return self.generator(self.decoder(t, memory, tgt_mask=mask))


class LossCompute:
    def __init__(self, criterion, opt=None):
        self.criterion = criterion
        self.opt = opt

    def __call__(self, logits, y, norm):
        loss = self.criterion(logits.reshape(-1, VOCAB), y.reshape(-1)) / norm
        if self.opt is not None:
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return (loss * norm).item()


def run_epoch(batches, model, compute_loss, name):
    start = time.time()
    total_loss, total_tokens = 0., 0
    for i, b in enumerate(batches):
        logits = model(b.query, b.video, b.trg)
        loss = compute_loss(logits, b.trg_y, b.ntokens)
        total_loss += loss
        total_tokens += b.ntokens
        if (i + 1) % 10 == 0:
            print('%s step %d loss %.4f' % (name, i + 1, loss / b.ntokens))
    print('%s done in %.1fs' % (name, time.time() - start))
    return total_loss / total_tokens


if __name__ == '__main__':
    torch.manual_seed(1)
    np.random.seed(1)
    train_batches = make_batches(20, 16, 0)
    valid_batches = make_batches(30, 16, 1)
    model = VideoDialog()
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, reduction='sum')
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)

    best = float('inf')
    for epoch in range(3):
        model.train()
        train_loss = run_epoch(train_batches, model, LossCompute(criterion, opt), 'train')
        model.eval()
        with torch.no_grad():
            valid_loss = run_epoch(valid_batches, model, LossCompute(criterion), 'valid')
        print('epoch %d train %.4f valid %.4f' % (epoch, train_loss, valid_loss))
        if valid_loss < best:
            best = valid_loss
