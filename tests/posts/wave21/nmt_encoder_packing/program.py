import argparse
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS = 0, 1, 2
WORDS = list("abcdefghijklmnopqrst")


class ParallelCorpus(Dataset):
    """Toy corpus, the translation is the source shifted in the alphabet and reversed."""

    def __init__(self, size, seed):
        rng = random.Random(seed)
        self.stoi = {w: i + 3 for i, w in enumerate(WORDS)}
        self.examples = []
        for _ in range(size):
            src = [rng.choice(WORDS) for _ in range(rng.randint(3, 10))]
            tgt = [WORDS[(WORDS.index(w) + 1) % len(WORDS)] for w in reversed(src)]
            self.examples.append((self.encode(src), [BOS] + self.encode(tgt) + [EOS]))

    def encode(self, words):
        return [self.stoi[w] for w in words]

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, i):
        src, tgt = self.examples[i]
        return torch.tensor(src), torch.tensor(tgt)


def make_batch(examples):
    lengths = torch.tensor([len(src) for src, _ in examples])
    src = pad_sequence([src for src, _ in examples], padding_value=PAD)
    tgt = pad_sequence([tgt for _, tgt in examples], padding_value=PAD)
    return src, lengths, tgt


class Encoder(nn.Module):
    def __init__(self, vocab, emb, hidden, layers=1, dropout=0.1):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, emb, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        self.rnn = nn.LSTM(emb, hidden, num_layers=layers)

    def forward(self, src, lengths):
        emb = self.dropout(self.embeddings(src))
        packed = pack_padded_sequence(emb, lengths)
        outputs, state = self.rnn(packed)
        outputs, _ = pad_packed_sequence(outputs)
        return outputs, state


class Decoder(nn.Module):
    def __init__(self, vocab, emb, hidden, layers=1):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, emb, padding_idx=PAD)
        self.rnn = nn.LSTM(emb, hidden, num_layers=layers)
        self.attn_in = nn.Linear(hidden, hidden, bias=False)
        self.attn_out = nn.Linear(2 * hidden, hidden)
        self.generator = nn.Linear(hidden, vocab)

    def forward(self, tgt, memory, state, lengths):
        out, state = self.rnn(self.embeddings(tgt), state)
        scores = torch.einsum("tbh,sbh->tbs", self.attn_in(out), memory)
        steps = torch.arange(memory.size(0))
        scores = scores.masked_fill(steps[None, None, :] >= lengths[None, :, None], float("-inf"))
        context = torch.einsum("tbs,sbh->tbh", scores.softmax(-1), memory)
        out = torch.tanh(self.attn_out(torch.cat([out, context], dim=-1)))
        return self.generator(out), state


class NMTModel(nn.Module):
    def __init__(self, vocab, emb, hidden):
        super().__init__()
        self.encoder = Encoder(vocab, emb, hidden)
        self.decoder = Decoder(vocab, emb, hidden)

    def forward(self, src, lengths, tgt):
        memory, state = self.encoder(src, lengths)
        logits, _ = self.decoder(tgt[:-1], memory, state, lengths)
        return logits


def run(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total, words, right = 0.0, 0, 0
    for src, lengths, tgt in loader:
        with torch.set_grad_enabled(optimizer is not None):
            logits = model(src, lengths, tgt)
            gold = tgt[1:]
            loss = criterion(logits.flatten(0, 1), gold.flatten())
        mask = gold.ne(PAD)
        if optimizer is not None:
            optimizer.zero_grad()
            (loss / mask.sum()).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
        total, words = total + loss.item(), words + mask.sum().item()
        right += (logits.argmax(-1).eq(gold) & mask).sum().item()
    return total / words, 100 * right / words


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-batch_size", type=int, default=32)
    parser.add_argument("-epochs", type=int, default=4)
    parser.add_argument("-rnn_size", type=int, default=96)
    opt = parser.parse_args()
    torch.manual_seed(0)
    train = DataLoader(ParallelCorpus(2000, 0), opt.batch_size, shuffle=True, collate_fn=make_batch)
    valid = DataLoader(ParallelCorpus(300, 1), opt.batch_size, collate_fn=make_batch)
    model = NMTModel(len(WORDS) + 3, 48, opt.rnn_size)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, opt.epochs + 1):
        loss, acc = run(model, train, criterion, optimizer)
        vloss, vacc = run(model, valid, criterion)
        print(f"Epoch {epoch}: xent {loss:.3f} acc {acc:.1f} | valid xent {vloss:.3f} acc {vacc:.1f}")
