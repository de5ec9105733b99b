import math
import torch
import torch.nn as nn


class ConvBlock(nn.Module):
    def __init__(self, size, stride=2, hidden_in=64, hidden=64):
        super().__init__()
        pad = size // 2
        self.scale = nn.Sequential(nn.Conv1d(hidden_in, hidden, size, stride, pad), nn.BatchNorm1d(hidden), nn.ReLU())
        self.res = nn.Sequential(
            nn.Conv1d(hidden, hidden, size, padding=pad), nn.BatchNorm1d(hidden), nn.ReLU(),
            nn.Conv1d(hidden, hidden, size, padding=pad), nn.BatchNorm1d(hidden))

    def forward(self, x):
        scaled = self.scale(x)
        return torch.relu(self.res(scaled) + scaled)


class Encoder(nn.Module):
    def __init__(self, in_channel, output_size=64, num_blocks=4):
        super().__init__()
        sizes = [16, 32, 32, 64, output_size]
        self.conv_start = nn.Conv1d(in_channel, 16, 3, 2, 1)
        self.blocks = nn.Sequential(*[ConvBlock(5, hidden_in=sizes[i], hidden=sizes[i + 1]) for i in range(num_blocks)])

    def forward(self, x):
        return self.blocks(self.conv_start(x))


class PositionalEncoding(nn.Module):
    def __init__(self, hidden, dropout=0.1, max_len=256):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, hidden, 2) * (-math.log(10000.0) / hidden))
        pe = torch.zeros(max_len, 1, hidden)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x):
        x = x + self.pe[:x.size(1)].transpose(0, 1)
        return self.dropout(x)


class AttnModule(nn.Module):
    def __init__(self, hidden=64, layers=2):
        super().__init__()
        self.pos_encoder = PositionalEncoding(hidden)
        layer = nn.TransformerEncoderLayer(hidden, 8, 4 * hidden, 0.1, batch_first=True)
        self.module = nn.TransformerEncoder(layer, layers)

    def forward(self, x):
        return self.module(self.pos_encoder(x))


class ConvTransModel(nn.Module):
    """DNA (one hot) and epigenomic tracks (B, L, 5 + tracks) to a contact map."""

    def __init__(self, num_genomic_features=2, mid_hidden=64):
        super().__init__()
        self.encoder = Encoder(5 + num_genomic_features, mid_hidden)
        self.attn = AttnModule(mid_hidden)
        self.decoder = nn.Sequential(nn.Conv2d(2 * mid_hidden, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 1))

    def diagonalize(self, x):
        rows = x.unsqueeze(2).expand(-1, -1, x.size(-1), -1)
        return torch.cat([rows, rows.transpose(2, 3)], dim=1)

    def forward(self, x):
        x = x.transpose(1, 2).float()
        x = self.encoder(x).transpose(1, 2)
        x = self.attn(x).transpose(1, 2)
        return self.decoder(self.diagonalize(x)).squeeze(1)
