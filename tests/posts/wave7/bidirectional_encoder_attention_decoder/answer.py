import math
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.autograd import Variable
from torch.nn.utils import clip_grad_norm_

VOCAB, PAD, SOS = 60, 0, 1


class EncoderRNN(nn.Module):
    def __init__(self, input_size, embed_size, hidden_size, n_layers=1, dropout=0.5):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embed = nn.Embedding(input_size, embed_size, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        self.gru = nn.GRU(embed_size, hidden_size, n_layers, bidirectional=True)

    def forward(self, input_seqs, hidden=None):
        embedded = self.dropout(self.embed(input_seqs))
        outputs, hidden = self.gru(embedded, hidden)
        # sum the two directions
        outputs = outputs[:, :, :self.hidden_size] + outputs[:, :, self.hidden_size:]
        hidden = (hidden[0] + hidden[1]).unsqueeze(0)
        return outputs, hidden


class Attn(nn.Module):
    def __init__(self, hidden_size):
        super(Attn, self).__init__()
        self.attn = nn.Linear(hidden_size * 2, hidden_size)
        self.v = nn.Parameter(torch.rand(hidden_size))
        self.v.data.normal_(mean=0, std=1. / math.sqrt(hidden_size))

    def forward(self, hidden, encoder_outputs):
        T = encoder_outputs.size(0)
        H = hidden.repeat(T, 1, 1).transpose(0, 1)
        encoder_outputs = encoder_outputs.transpose(0, 1)
        energy = torch.tanh(self.attn(torch.cat([H, encoder_outputs], 2)))
        energy = energy.transpose(2, 1)
        v = self.v.repeat(encoder_outputs.size(0), 1).unsqueeze(1)
        return F.softmax(torch.bmm(v, energy), dim=2)


class DecoderRNN(nn.Module):
    def __init__(self, embed_size, hidden_size, output_size, n_layers=1, dropout_p=0.2):
        super(DecoderRNN, self).__init__()
        self.embed = nn.Embedding(output_size, embed_size)
        self.dropout = nn.Dropout(dropout_p)
        self.attention = Attn(hidden_size)
        self.gru = nn.GRU(hidden_size + embed_size, hidden_size, n_layers)
        self.out = nn.Linear(hidden_size * 2, output_size)

    def forward(self, word_input, last_hidden, encoder_outputs):
        word_embedded = self.dropout(self.embed(word_input)).unsqueeze(0)
        attn_weights = self.attention(last_hidden[-1], encoder_outputs)
        context = attn_weights.bmm(encoder_outputs.transpose(0, 1)).transpose(0, 1)
        rnn_input = torch.cat([word_embedded, context], 2)
        output, hidden = self.gru(rnn_input, last_hidden)
        output = self.out(torch.cat([output.squeeze(0), context.squeeze(0)], 1))
        return F.log_softmax(output, dim=1), hidden


class Seq2Seq(nn.Module):
    def __init__(self, encoder, decoder):
        super(Seq2Seq, self).__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, src, trg, teacher_forcing_ratio=0.5):
        max_len, batch_size = trg.size()
        outputs = Variable(torch.zeros(max_len, batch_size, VOCAB))
        encoder_output, hidden = self.encoder(src)
        output = trg[0]
        for t in range(1, max_len):
            output, hidden = self.decoder(output, hidden, encoder_output)
            outputs[t] = output
            top1 = output.max(1)[1]
            output = trg[t] if random.random() < teacher_forcing_ratio else top1
        return outputs


random.seed(1)
torch.manual_seed(1)
seq2seq = Seq2Seq(EncoderRNN(VOCAB, 32, 64), DecoderRNN(32, 64, VOCAB))
optimizer = optim.Adam(seq2seq.parameters(), lr=0.0001)
for b in range(4):
    src = torch.randint(2, VOCAB, (11, 16))
    trg = torch.cat([torch.full((1, 16), SOS), torch.randint(2, VOCAB, (9, 16))])
    optimizer.zero_grad()
    output = seq2seq(src, trg)
    loss = F.nll_loss(output[1:].view(-1, VOCAB), trg[1:].contiguous().view(-1), ignore_index=PAD)
    loss.backward()
    clip_grad_norm_(seq2seq.parameters(), 10.0)
    optimizer.step()
    print("[%d][loss:%5.2f]" % (b, loss.item()))
