import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

PAD, SOS, EOS = 0, 1, 2


class EncoderRNN(nn.Module):
    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, hidden_size, padding_idx=PAD)
        self.rnn = nn.GRU(hidden_size, hidden_size, batch_first=True)

    def forward(self, input_var, input_lengths):
        embedded = self.embedding(input_var)
        embedded = pack_padded_sequence(embedded, input_lengths, batch_first=True)
        output, hidden = self.rnn(embedded)
        output, _ = pad_packed_sequence(output, batch_first=True)
        return output, hidden


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear_out = nn.Linear(dim * 2, dim)

    def forward(self, output, context):
        batch_size, hidden_size = output.size(0), output.size(2)
        # (batch, out_len, dim) * (batch, in_len, dim) -> (batch, out_len, in_len)
        attn = torch.bmm(output, context.transpose(1, 2))
        attn = F.softmax(attn, dim=-1)
        mix = torch.bmm(attn, context)
        combined = torch.cat((mix, output), dim=2)
        return torch.tanh(self.linear_out(combined)), attn


class DecoderRNN(nn.Module):
    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, hidden_size, padding_idx=PAD)
        self.rnn = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.attention = Attention(hidden_size)
        self.out = nn.Linear(hidden_size, vocab_size)

    def forward(self, inputs, encoder_hidden, encoder_outputs):
        embedded = self.embedding(inputs)
        output, hidden = self.rnn(embedded, encoder_hidden)
        output, attn = self.attention(output, encoder_outputs)
        return F.log_softmax(self.out(output), dim=-1), attn


class Seq2seq(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, input_variable, input_lengths, target_variable):
        encoder_outputs, encoder_hidden = self.encoder(input_variable, input_lengths)
        return self.decoder(target_variable, encoder_hidden, encoder_outputs)


def make_batch(pairs):
    pairs = sorted(pairs, key=lambda p: -len(p[0]))
    lengths = [len(p[0]) for p in pairs]
    src = torch.zeros(len(pairs), max(lengths), dtype=torch.long)
    tgt = torch.zeros(len(pairs), max(len(p[1]) for p in pairs), dtype=torch.long)
    for i, (s, t) in enumerate(pairs):
        src[i, :len(s)] = torch.tensor(s)
        tgt[i, :len(t)] = torch.tensor(t)
    return src, lengths, tgt


random.seed(0)
torch.manual_seed(0)
vocab_size, hidden_size = 30, 48
data = []
for _ in range(256):
    words = [random.randint(3, vocab_size - 1) for _ in range(random.randint(2, 12))]
    data.append((words + [EOS], [SOS] + words[::-1] + [EOS]))

model = Seq2seq(EncoderRNN(vocab_size, hidden_size), DecoderRNN(vocab_size, hidden_size))
criterion = nn.NLLLoss(ignore_index=PAD)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    random.shuffle(data)
    total = 0
    for i in range(0, len(data), 32):
        src, lengths, tgt = make_batch(data[i:i + 32])
        log_probs, attn = model(src, lengths, tgt[:, :-1])
        loss = criterion(log_probs.reshape(-1, vocab_size), tgt[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f'Finished epoch {epoch + 1}: Train NLLLoss: {total / 8:.4f}')
