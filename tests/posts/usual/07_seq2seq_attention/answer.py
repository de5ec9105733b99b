import random
import torch
import torch.nn as nn
import torch.nn.functional as F

SRC_VOCAB, TRG_VOCAB, PAD, SOS = 60, 50, 0, 1


class Encoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=PAD)
        self.rnn = nn.GRU(emb, hid)

    def forward(self, src):
        # src: [src_len, batch]
        outputs, hidden = self.rnn(self.embedding(src))
        return outputs, hidden


class Attention(nn.Module):
    def __init__(self, hid):
        super().__init__()
        self.attn = nn.Linear(hid * 2, hid)
        self.v = nn.Linear(hid, 1, bias=False)

    def forward(self, hidden, encoder_outputs):
        src_len = encoder_outputs.shape[0]
        hidden = hidden.squeeze(0).unsqueeze(1).repeat(1, src_len, 1)
        encoder_outputs = encoder_outputs.permute(1, 0, 2)
        energy = torch.tanh(self.attn(torch.cat((hidden, encoder_outputs), dim=2)))
        attention = self.v(energy).squeeze(2)
        return F.softmax(attention, dim=1)


class Decoder(nn.Module):
    def __init__(self, vocab, emb, hid, attention):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.attention = attention
        self.rnn = nn.GRU(emb + hid, hid)
        self.fc = nn.Linear(hid * 2 + emb, vocab)

    def forward(self, token, hidden, encoder_outputs):
        embedded = self.embedding(token.unsqueeze(0))
        a = self.attention(hidden, encoder_outputs).unsqueeze(1)
        weighted = torch.bmm(a, encoder_outputs.permute(1, 0, 2)).permute(1, 0, 2)
        output, hidden = self.rnn(torch.cat((embedded, weighted), dim=2), hidden)
        logits = self.fc(torch.cat((output, weighted, embedded), dim=2).squeeze(0))
        return logits, hidden


class Seq2Seq(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, src, trg, teacher_forcing=0.5):
        enc_out, hidden = self.encoder(src)
        token = trg[0]
        outputs = []
        for t in range(1, trg.shape[0]):
            logits, hidden = self.decoder(token, hidden, enc_out)
            outputs.append(logits)
            token = trg[t] if random.random() < teacher_forcing else logits.argmax(1)
        return torch.stack(outputs)


model = Seq2Seq(Encoder(SRC_VOCAB, 32, 64), Decoder(TRG_VOCAB, 32, 64, Attention(64)))
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss(ignore_index=PAD)

# 10 batches of (src, trg), both [len, batch]
data = [(torch.randint(2, SRC_VOCAB, (13, 16)), torch.randint(2, TRG_VOCAB, (11, 16))) for _ in range(10)]

for epoch in range(2):
    epoch_loss = 0
    for src, trg in data:
        trg[0] = SOS
        optimizer.zero_grad()
        output = model(src, trg)
        loss = criterion(output.reshape(-1, TRG_VOCAB), trg[1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        epoch_loss += loss.item()
    print(f"Epoch {epoch + 1} | loss {epoch_loss / len(data):.3f}")
