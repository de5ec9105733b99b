import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader


class HParams:
    n_symbols = 40
    n_mel_channels = 20
    encoder_dim = 48
    decoder_rnn_dim = 64
    prenet_dim = 32
    p_dropout = 0.1


class TextMelSet(torch.utils.data.Dataset):
    def __init__(self, n, hp):
        g = torch.Generator().manual_seed(0)
        self.items = []
        for _ in range(n):
            t = int(torch.randint(6, 14, (1,), generator=g))
            text = torch.randint(1, hp.n_symbols, (t,), generator=g)
            mel = torch.sin(text[:, None] * torch.linspace(0.1, 1, hp.n_mel_channels)).repeat_interleave(2, dim=0)
            self.items.append((text, mel.t()))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def text_mel_collate(batch):
    batch = sorted(batch, key=lambda b: len(b[0]), reverse=True)
    input_lengths = torch.LongTensor([len(b[0]) for b in batch])
    text = torch.zeros(len(batch), int(input_lengths.max()), dtype=torch.long)
    max_mel = max(b[1].size(1) for b in batch)
    mel = torch.zeros(len(batch), batch[0][1].size(0), max_mel)
    gate = torch.zeros(len(batch), max_mel)
    for i, (t, m) in enumerate(batch):
        text[i, :len(t)] = t
        mel[i, :, :m.size(1)] = m
        gate[i, m.size(1) - 1:] = 1
    return text, input_lengths, mel, gate


class Attention(nn.Module):
    def __init__(self, hp):
        super(Attention, self).__init__()
        self.query = nn.Linear(hp.decoder_rnn_dim, 32, bias=False)
        self.memory = nn.Linear(hp.encoder_dim, 32, bias=False)
        self.v = nn.Linear(32, 1, bias=False)

    def forward(self, query, memory, mask):
        energies = self.v(torch.tanh(self.query(query.unsqueeze(1)) + self.memory(memory))).squeeze(-1)
        weights = F.softmax(energies.masked_fill(mask, -1e4), dim=1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1)


class Tacotron(nn.Module):
    def __init__(self, hp):
        super(Tacotron, self).__init__()
        self.hp = hp
        self.embedding = nn.Embedding(hp.n_symbols, hp.encoder_dim)
        self.encoder = nn.LSTM(hp.encoder_dim, hp.encoder_dim // 2, batch_first=True, bidirectional=True)
        self.prenet = nn.Linear(hp.n_mel_channels, hp.prenet_dim)
        self.attention = Attention(hp)
        self.rnn = nn.LSTMCell(hp.prenet_dim + hp.encoder_dim, hp.decoder_rnn_dim)
        self.linear_projection = nn.Linear(hp.decoder_rnn_dim + hp.encoder_dim, hp.n_mel_channels)
        self.gate_layer = nn.Linear(hp.decoder_rnn_dim + hp.encoder_dim, 1)

    def parse_decoder_outputs(self, mel_outputs, gate_outputs):
        gate_outputs = torch.stack(gate_outputs).transpose(0, 1).contiguous()
        mel_outputs = torch.stack(mel_outputs).permute(1, 2, 0).contiguous()
        return mel_outputs, gate_outputs

    def forward(self, text, input_lengths, mels):
        memory, _ = self.encoder(self.embedding(text))
        mask = torch.arange(text.size(1))[None] >= input_lengths[:, None]
        frames = torch.cat([torch.zeros_like(mels[:, :, :1]), mels[:, :, :-1]], dim=2).permute(2, 0, 1)
        h = memory.new_zeros(text.size(0), self.hp.decoder_rnn_dim)
        c = torch.zeros_like(h)
        mel_outputs, gate_outputs = [], []
        for frame in F.dropout(F.relu(self.prenet(frames)), self.hp.p_dropout, self.training):
            context = self.attention(h, memory, mask)
            h, c = self.rnn(torch.cat([frame, context], dim=1), (h, c))
            hidden_context = torch.cat([h, context], dim=1)
            mel_outputs += [self.linear_projection(hidden_context)]
            gate_outputs += [self.gate_layer(hidden_context).squeeze()]
        return self.parse_decoder_outputs(mel_outputs, gate_outputs)


def train(args):
    torch.manual_seed(1234)
    hp = HParams()
    model = Tacotron(hp)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
    loader = DataLoader(TextMelSet(24, hp), batch_size=args.batch_size, shuffle=True,
                        drop_last=True, collate_fn=text_mel_collate)
    for iteration, (text, input_lengths, mel, gate) in enumerate(loader):
        model.zero_grad()
        mel_out, gate_out = model(text, input_lengths, mel)
        loss = F.mse_loss(mel_out, mel) + F.binary_cross_entropy_with_logits(gate_out, gate)
        loss.backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print("Train loss {} {:.6f} Grad Norm {:.6f}".format(iteration, loss.item(), grad_norm))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--batch_size', type=int, default=1)
    train(parser.parse_args())
