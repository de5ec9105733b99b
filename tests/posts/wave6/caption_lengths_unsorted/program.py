import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(0)
PAD, SOS, EOS = 0, 1, 2
VOCAB = 80


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, n_layers=1, dropout=0.1):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size, padding_idx=PAD)
        self.gru = nn.GRU(hidden_size, hidden_size, n_layers, dropout=dropout if n_layers > 1 else 0, bidirectional=True)

    def forward(self, input_seqs, input_lengths, hidden=None):
        embedded = self.embedding(input_seqs)
        packed = pack_padded_sequence(embedded, input_lengths)
        outputs, hidden = self.gru(packed, hidden)
        outputs, _ = pad_packed_sequence(outputs)
        outputs = outputs[:, :, :self.hidden_size] + outputs[:, :, self.hidden_size:]
        return outputs, hidden


class DecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super(DecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size, padding_idx=PAD)
        self.gru = nn.GRU(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, words, hidden):
        output, hidden = self.gru(self.embedding(words), hidden)
        return self.out(output), hidden


def random_pair():
    n, m = torch.randint(3, 12, (2,)).tolist()
    source = torch.cat([torch.randint(3, VOCAB, (n,)), torch.tensor([EOS])])
    target = torch.cat([torch.randint(3, VOCAB, (m,)), torch.tensor([EOS])])
    return source, target


def random_batch(pairs, batch_size):
    chosen = [pairs[i] for i in torch.randint(0, len(pairs), (batch_size,)).tolist()]
    input_seqs, target_seqs = zip(*chosen)
    input_lengths = [len(s) for s in input_seqs]
    return pad_sequence(input_seqs), input_lengths, pad_sequence(target_seqs)


pairs = [random_pair() for _ in range(200)]
encoder, decoder = EncoderRNN(VOCAB, 48, n_layers=2), DecoderRNN(48, VOCAB)
optimizer = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=1e-3)

for step in range(10):
    input_batches, input_lengths, target_batches = random_batch(pairs, 16)
    encoder_outputs, encoder_hidden = encoder(input_batches, input_lengths)
    start = torch.full((1, target_batches.size(1)), SOS, dtype=torch.long)
    decoder_input = torch.cat([start, target_batches[:-1]])
    logits, _ = decoder(decoder_input, encoder_hidden[-2:-1].contiguous())
    loss = F.cross_entropy(logits.view(-1, VOCAB), target_batches.view(-1), ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
