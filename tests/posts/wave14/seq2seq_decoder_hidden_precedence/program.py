import random
import torch
import torch.nn as nn
import torch.nn.functional as F

SOS, EOS, OFFSET = 0, 1, 2


class EncoderRNN(nn.Module):
    def __init__(self, vocab_size, hidden_size, bidirectional=False, variable_lengths=False):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, hidden_size)
        self.rnn = nn.GRU(hidden_size, hidden_size, batch_first=True, bidirectional=bidirectional)

    def forward(self, inputs):
        return self.rnn(self.embedding(inputs))


class DecoderRNN(nn.Module):
    def __init__(self, vocab_size, max_len, hidden_size, bidirectional=False, use_attention=True):
        super().__init__()
        self.max_len = max_len
        self.bidirectional = bidirectional
        self.use_attention = use_attention
        self.embedding = nn.Embedding(vocab_size, hidden_size)
        self.rnn = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.mix = nn.Linear(2 * hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, vocab_size)

    def initial(self, hidden):
        if self.bidirectional:
            hidden = torch.cat([hidden[0::2], hidden[1::2]], 2)
        return hidden

    def forward(self, encoder_hidden, encoder_outputs, targets, teacher_forcing=0.5):
        hidden = self.initial(encoder_hidden)
        token = torch.full((targets.size(0), 1), SOS, dtype=torch.long)
        logits = []
        for t in range(targets.size(1)):
            output, hidden = self.rnn(self.embedding(token), hidden)
            if self.use_attention:
                attn = F.softmax(output @ encoder_outputs.transpose(1, 2), dim=-1)
                output = torch.tanh(self.mix(torch.cat([attn @ encoder_outputs, output], dim=2)))
            step = self.out(output.squeeze(1))
            logits.append(step)
            token = targets[:, t:t + 1] if random.random() < teacher_forcing else step.argmax(1, keepdim=True)
        return torch.stack(logits, dim=1)


class Seq2seq(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, src, tgt):
        outputs, hidden = self.encoder(src)
        return self.decoder(hidden, outputs, tgt)


def reversed_digits(n, length=7):
    src = torch.randint(OFFSET, OFFSET + 10, (n, length))
    tgt = torch.cat([src.flip(1), torch.full((n, 1), EOS)], dim=1)
    return src, tgt


if __name__ == '__main__':
    torch.manual_seed(7)
    random.seed(7)
    vocab, max_len, hidden_size = OFFSET + 10, 8, 64
    bidirectional = False

    encoder = EncoderRNN(vocab, hidden_size, bidirectional=bidirectional, variable_lengths=True)
    decoder = DecoderRNN(vocab, max_len, hidden_size * 2 if bidirectional else 1,
                         bidirectional=bidirectional, use_attention=True)
    seq2seq = Seq2seq(encoder, decoder)
    for p in seq2seq.parameters():
        p.data.uniform_(-0.08, 0.08)

    optimizer = torch.optim.Adam(seq2seq.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    for step in range(1, 121):
        src, tgt = reversed_digits(32)
        logits = seq2seq(src, tgt)
        loss = criterion(logits.reshape(-1, vocab), tgt.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(seq2seq.parameters(), 5)
        optimizer.step()
        if step % 40 == 0:
            acc = (logits.argmax(-1) == tgt).float().mean().item()
            print('step %d loss %.3f token accuracy %.3f' % (step, loss.item(), acc))
