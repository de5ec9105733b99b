import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

PAD, SOS, EOS, VOCAB = 0, 1, 2, 24


class Encoder(nn.Module):
    def __init__(self, emb=24, hid=48):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, emb)
        self.rnn = nn.GRU(emb, hid, batch_first=True)

    def forward(self, src):
        _, hidden = self.rnn(self.embedding(src))
        return hidden


class Decoder(nn.Module):
    def __init__(self, emb=24, hid=48):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, emb)
        self.rnn = nn.GRU(emb, hid, batch_first=True)
        self.fc_out = nn.Linear(hid, VOCAB)

    def forward(self, token, hidden):
        output, hidden = self.rnn(self.embedding(token.unsqueeze(1)), hidden)
        return self.fc_out(output.squeeze(1)), hidden


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()

    def forward(self, src, trg, teacher_forcing_ratio=0.5):
        hidden = self.encoder(src)
        token, outputs = trg[:, 0], []
        for t in range(1, trg.size(1)):
            logits, hidden = self.decoder(token, hidden)
            outputs.append(logits)
            teacher_force = random.random() < teacher_forcing_ratio
            token = trg[:, t] if teacher_force else logits.argmax(1)
        return torch.stack(outputs, dim=1)


def train(model, loader, optimizer, criterion):
    model.train()
    epoch_loss = 0.0
    for src, trg in loader:
        optimizer.zero_grad()
        output = model(src, trg)
        loss = criterion(output.flatten(0, 1), trg[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        epoch_loss += loss.item()
    return epoch_loss / len(loader)


def evaluate(model, loader, criterion):
    model.eval()
    epoch_loss = 0.0
    with torch.no_grad():
        for src, trg in loader:
            output = model(src, trg)
            epoch_loss += criterion(output.flatten(0, 1), trg[:, 1:].flatten()).item()
    return epoch_loss / len(loader)


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    src = torch.randint(3, VOCAB, (480, 7))
    trg = torch.cat([torch.full((480, 1), SOS), src.flip(1), torch.full((480, 1), EOS)], dim=1)
    train_loader = DataLoader(TensorDataset(src[:400], trg[:400]), batch_size=40, shuffle=True)
    valid_loader = DataLoader(TensorDataset(src[400:], trg[400:]), batch_size=40)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    for epoch in range(5):
        tl = train(model, train_loader, optimizer, criterion)
        vl = evaluate(model, valid_loader, criterion)
        print(f"epoch {epoch} train {tl:.3f} val {vl:.3f}")
