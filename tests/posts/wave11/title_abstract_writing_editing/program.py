import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
random.seed(0)

PAD, SOS, EOS, VOCAB = 0, 1, 2, 300


class TitleEncoder(nn.Module):
    def __init__(self, embedding, hidden):
        super().__init__()
        self.embedding = embedding
        self.gru = nn.GRU(embedding.embedding_dim, hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hidden, hidden)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
        outputs, hidden = self.gru(packed)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True)
        hidden = torch.tanh(self.bridge(torch.cat([hidden[0], hidden[1]], dim=-1)))
        return self.bridge(outputs), hidden


class AbstractDecoder(nn.Module):
    def __init__(self, embedding, hidden):
        super().__init__()
        self.embedding = embedding
        self.cell = nn.GRUCell(embedding.embedding_dim + hidden, hidden)
        self.draft_gru = nn.GRU(hidden, hidden, batch_first=True)
        self.merge = nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(2 * hidden, VOCAB)

    def attend(self, state, keys):
        scores = torch.bmm(keys, state.unsqueeze(2)).squeeze(2)
        return torch.bmm(F.softmax(scores, dim=1).unsqueeze(1), keys).squeeze(1)

    def forward(self, targets, keys, state, draft=None):
        draft_keys = None if draft is None else self.draft_gru(draft)[0]
        logits, states = [], []
        for t in range(targets.size(1) - 1):
            context = self.attend(state, keys)
            if draft_keys is not None:
                context = self.merge(torch.cat([context, self.attend(state, draft_keys)], dim=-1))
            state = self.cell(torch.cat([self.embedding(targets[:, t]), context], dim=-1), state)
            states.append(state)
            logits.append(self.out(torch.cat([state, context], dim=-1)))
        return torch.stack(logits, dim=1), torch.stack(states, dim=1)


class WritingEditing(nn.Module):
    def __init__(self, emb=48, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.encoder = TitleEncoder(self.embedding, hidden)
        self.decoder = AbstractDecoder(self.embedding, hidden)

    def forward(self, title, lengths, abstract, draft=None):
        keys, state = self.encoder(title, lengths)
        return self.decoder(abstract, keys, state, draft)


def make_batch(size):
    titles = [[random.randrange(3, VOCAB) for _ in range(random.randint(4, 9))] for _ in range(size)]
    lengths = torch.tensor([len(t) for t in titles])
    title = torch.tensor([t + [PAD] * (9 - len(t)) for t in titles])[:, :int(lengths.max())]
    body = [[SOS] + [random.choice(t) for _ in range(random.randint(15, 28))] + [EOS] for t in titles]
    abstract = torch.tensor([b + [PAD] * (30 - len(b)) for b in body])
    return title, lengths, abstract


def train_batch(model, criterion, optimizer, batch, num_drafts):
    title, lengths, abstract = batch
    draft, draft_losses = None, []
    for _ in range(num_drafts):
        logits, states = model(title, lengths, abstract, draft)
        loss = criterion(logits.reshape(-1, VOCAB), abstract[:, 1:].reshape(-1))
        model.zero_grad()
        loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        draft = states.detach()
        draft_losses.append(loss.item())
    return draft_losses


model = WritingEditing()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
model.train()
for epoch in range(2):
    sums = [0.0, 0.0]
    for step in range(6):
        losses = train_batch(model, criterion, optimizer, make_batch(16), num_drafts=2)
        sums = [s + v for s, v in zip(sums, losses)]
    print('epoch %d  first draft %.4f  second draft %.4f' % (epoch, sums[0] / 6, sums[1] / 6))
