import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

SOS, EOS = 0, 1
VOCAB = 20
MAX_LENGTH = 10

random.seed(3)
torch.manual_seed(3)


def make_pair():
    length = random.randint(3, MAX_LENGTH - 2)
    words = [random.randint(2, VOCAB - 1) for _ in range(length)]
    return torch.tensor(words + [EOS]), torch.tensor(words[::-1] + [EOS])


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, n_layers=1):
        super().__init__()
        self.hidden_size = hidden_size
        self.n_layers = n_layers
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, n_layers)

    def forward(self, word_inputs, hidden):
        embedded = self.embedding(word_inputs).unsqueeze(1)
        return self.gru(embedded, hidden)

    def init_hidden(self):
        return torch.zeros(self.n_layers, 1, self.hidden_size)


class AdditiveAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.proj = nn.Linear(hidden_size * 2, hidden_size)
        self.score = nn.Linear(hidden_size, 1, bias=False)

    def forward(self, hidden, encoder_outputs):
        seq_len = encoder_outputs.size(0)
        query = hidden.unsqueeze(0).expand(seq_len, -1, -1)
        energy = self.score(torch.tanh(self.proj(torch.cat((query, encoder_outputs), 2))))
        return F.softmax(energy, dim=0).permute(1, 2, 0)


class BahdanauDecoder(nn.Module):
    def __init__(self, hidden_size, output_size, n_layers=1, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.dropout = nn.Dropout(dropout_p)
        self.attn = AdditiveAttention(hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, n_layers)
        self.out = nn.Linear(hidden_size * 2, output_size)

    def forward(self, word_input, last_hidden, encoder_outputs):
        word_embedded = self.dropout(self.embedding(word_input).view(1, 1, -1))
        attn_weights = self.attn(last_hidden[-1], encoder_outputs)
        context = attn_weights.bmm(encoder_outputs.transpose(0, 1)).transpose(0, 1)
        rnn_input = torch.cat((word_embedded, context), 2)
        output, hidden = self.gru(rnn_input, last_hidden)
        logits = self.out(torch.cat((output.squeeze(0), context.squeeze(0)), 1))
        return F.log_softmax(logits, dim=1), hidden, attn_weights


def train_pair(source, target, encoder, decoder, enc_opt, dec_opt, criterion, teacher_forcing=0.5):
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    encoder_outputs, hidden = encoder(source, encoder.init_hidden())
    word = torch.tensor([SOS])
    loss = 0
    use_teacher = random.random() < teacher_forcing
    for t in range(len(target)):
        log_probs, hidden, _ = decoder(word, hidden, encoder_outputs)
        loss = loss + criterion(log_probs, target[t:t + 1])
        word = target[t:t + 1] if use_teacher else log_probs.argmax(1).detach()
        if word.item() == EOS:
            break
    loss.backward()
    nn.utils.clip_grad_norm_(encoder.parameters(), 5.0)
    nn.utils.clip_grad_norm_(decoder.parameters(), 5.0)
    enc_opt.step()
    dec_opt.step()
    return loss.item() / len(target)


if __name__ == "__main__":
    hidden_size = 32
    encoder = EncoderRNN(VOCAB, hidden_size)
    decoder = BahdanauDecoder(hidden_size, VOCAB)
    enc_opt = optim.Adam(encoder.parameters(), lr=1e-3)
    dec_opt = optim.Adam(decoder.parameters(), lr=1e-3)
    criterion = nn.NLLLoss()

    running = 0.0
    for step in range(1, 201):
        source, target = make_pair()
        running += train_pair(source, target, encoder, decoder, enc_opt, dec_opt, criterion)
        if step % 50 == 0:
            print("step %d  loss %.4f" % (step, running / 50))
            running = 0.0
