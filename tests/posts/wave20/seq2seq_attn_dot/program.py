import random

import torch
import torch.nn as nn
import torch.nn.functional as F

SOS, EOS = 0, 1
VOCAB = 14
MAX_LENGTH = 8


def random_pair():
    n = random.randint(3, MAX_LENGTH - 2)
    seq = [random.randint(2, VOCAB - 1) for _ in range(n)]
    return torch.tensor(seq + [EOS]), torch.tensor(seq[::-1] + [EOS])


class EncoderRNN(nn.Module):
    def __init__(self, vocab, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(vocab, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)

    def forward(self, words):
        embedded = self.embedding(words).view(len(words), 1, -1)
        return self.gru(embedded, torch.zeros(1, 1, self.hidden_size))


class Attn(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.attn = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden, encoder_outputs):
        seq_len = len(encoder_outputs)
        energies = torch.zeros(seq_len)
        for i in range(seq_len):
            energies[i] = self.score(hidden, encoder_outputs[i])
        return F.softmax(energies, dim=0).view(1, 1, -1)

    def score(self, hidden, encoder_output):
        energy = self.attn(encoder_output)
        return hidden.dot(energy)


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, vocab):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden_size)
        self.gru = nn.GRU(hidden_size * 2, hidden_size)
        self.out = nn.Linear(hidden_size * 2, vocab)
        self.attn = Attn(hidden_size)

    def forward(self, word, last_context, last_hidden, encoder_outputs):
        embedded = self.embedding(word).view(1, 1, -1)
        rnn_input = torch.cat((embedded, last_context.unsqueeze(0)), 2)
        rnn_output, hidden = self.gru(rnn_input, last_hidden)
        weights = self.attn(rnn_output.squeeze(0), encoder_outputs)
        context = weights.bmm(encoder_outputs.transpose(0, 1)).squeeze(1)
        output = self.out(torch.cat((rnn_output.squeeze(0), context), 1))
        return F.log_softmax(output, dim=1), context, hidden


def train_pair(source, target, encoder, decoder, optimizer, criterion):
    optimizer.zero_grad()
    encoder_outputs, hidden = encoder(source)
    context = torch.zeros(1, encoder.hidden_size)
    word, loss = torch.tensor([SOS]), 0
    for di in range(len(target)):
        output, context, hidden = decoder(word, context, hidden, encoder_outputs)
        loss = loss + criterion(output, target[di].view(1))
        word = target[di].view(1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(encoder.parameters()) + list(decoder.parameters()), 5.0)
    optimizer.step()
    return loss.item() / len(target)


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    encoder, decoder = EncoderRNN(VOCAB, 48), AttnDecoderRNN(48, VOCAB)
    optimizer = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=2e-3)
    criterion = nn.NLLLoss()
    print_loss = 0.0
    for it in range(1, 401):
        print_loss += train_pair(*random_pair(), encoder, decoder, optimizer, criterion)
        if it % 100 == 0:
            print(f"{it:5d} loss {print_loss / 100:.4f}")
            print_loss = 0.0
