import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD, SOS, EOS = 0, 1, 2
VOCAB = 15


def make_pair():
    seq = [random.randint(3, VOCAB - 1) for _ in range(random.randint(3, 9))]
    return torch.tensor(seq + [EOS]), torch.tensor(seq[::-1] + [EOS])


def collate_fn(pairs):
    src, trg = zip(*pairs)
    return pad_sequence(src, batch_first=True, padding_value=PAD), pad_sequence(trg, batch_first=True, padding_value=PAD)


class Encoder(nn.Module):
    def __init__(self, emb=32, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.gru = nn.GRU(emb, hidden, batch_first=True)

    def forward(self, src):
        lengths = (src != PAD).sum(dim=1)
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(src), lengths, batch_first=True, enforce_sorted=False)
        outputs, hidden = self.gru(packed)
        outputs, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
        return outputs, hidden


class AttnDecoder(nn.Module):
    def __init__(self, emb=32, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.gru = nn.GRU(emb + hidden, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, VOCAB)

    def forward(self, token, hidden, enc_outputs, src_mask):
        query = hidden[-1].unsqueeze(2)
        scores = torch.bmm(enc_outputs, query).squeeze(2)
        scores = scores.masked_fill(~src_mask, float("-inf"))
        weights = F.softmax(scores, dim=1)
        context = torch.bmm(weights, enc_outputs)
        embedded = self.embedding(token)
        output, hidden = self.gru(torch.cat([embedded, context], dim=2), hidden)
        return self.fc(output.squeeze(1)), hidden


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = AttnDecoder()

    def forward(self, src, trg, teacher_forcing=0.7):
        enc_outputs, hidden = self.encoder(src)
        mask = src != PAD
        token = torch.full((src.size(0),), SOS)
        logits = []
        for t in range(trg.size(1)):
            step_logits, hidden = self.decoder(token, hidden, enc_outputs, mask)
            logits.append(step_logits)
            token = trg[:, t] if random.random() < teacher_forcing else step_logits.argmax(dim=1)
        return torch.stack(logits, dim=1)


def main():
    random.seed(0)
    torch.manual_seed(0)
    loader = DataLoader([make_pair() for _ in range(800)], batch_size=32, shuffle=True, collate_fn=collate_fn)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(6):
        model.train()
        epoch_loss = 0.0
        for src, trg in loader:
            optimizer.zero_grad()
            logits = model(src, trg)
            loss = criterion(logits.reshape(-1, VOCAB), trg.reshape(-1))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            epoch_loss += loss.item()
        print(f"epoch {epoch + 1}: loss {epoch_loss / len(loader):.4f}")


if __name__ == "__main__":
    main()
