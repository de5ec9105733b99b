import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
PAD, SOS = 0, 1


class EncoderRNN(nn.Module):
    def __init__(self, vocab, embed, hidden, n_layers):
        super(EncoderRNN, self).__init__()
        self.embedding = nn.Embedding(vocab, embed, padding_idx=PAD)
        self.gru = nn.GRU(embed, hidden, n_layers, bidirectional=True)
        self.hidden_size, self.n_layers = hidden, n_layers

    def forward(self, src):
        outputs, hidden = self.gru(self.embedding(src))
        outputs = outputs[:, :, :self.hidden_size] + outputs[:, :, self.hidden_size:]
        return outputs, hidden[:self.n_layers]


class Attn(nn.Module):
    def __init__(self, hidden_size):
        super(Attn, self).__init__()
        self.attn = nn.Linear(hidden_size * 2, hidden_size)
        self.v = nn.Parameter(torch.rand(hidden_size))

    def forward(self, hidden, encoder_outputs):
        max_len = encoder_outputs.size(0)
        H = hidden.repeat(max_len, 1, 1).transpose(0, 1)
        encoder_outputs = encoder_outputs.transpose(0, 1)
        attn_energies = self.score(H, encoder_outputs)
        return F.softmax(attn_energies, dim=1).unsqueeze(1)

    def score(self, hidden, encoder_outputs):
        energy = torch.tanh(self.attn(torch.cat([hidden, encoder_outputs], 2)))
        energy = energy.transpose(2, 1)
        v = self.v.repeat(encoder_outputs.size(0), 1).unsqueeze(1)
        return torch.bmm(v, energy).squeeze(1)


class BahdanauAttnDecoderRNN(nn.Module):
    def __init__(self, hidden, embed, vocab, n_layers):
        super(BahdanauAttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(vocab, embed)
        self.attn = Attn(hidden)
        self.gru = nn.GRU(hidden + embed, hidden, n_layers)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, word_input, last_hidden, encoder_outputs):
        word_embedded = self.embedding(word_input).unsqueeze(0)
        attn_weights = self.attn(last_hidden[-1:], encoder_outputs)
        context = attn_weights.bmm(encoder_outputs.transpose(0, 1)).transpose(0, 1)
        output, hidden = self.gru(torch.cat((word_embedded, context), 2), last_hidden)
        return self.out(output.squeeze(0)), hidden


encoder = EncoderRNN(60, 24, 32, n_layers=2)
decoder = BahdanauAttnDecoderRNN(32, 24, 50, n_layers=2)
optimizer = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=1e-3)

for step in range(5):
    src, trg = torch.randint(2, 60, (7, 16)), torch.randint(2, 50, (6, 16))
    encoder_outputs, hidden = encoder(src)
    word = torch.full((16,), SOS, dtype=torch.long)
    loss = 0
    for t in range(trg.size(0)):
        output, hidden = decoder(word, hidden, encoder_outputs)
        loss = loss + F.cross_entropy(output, trg[t])
        word = trg[t]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item() / trg.size(0))
