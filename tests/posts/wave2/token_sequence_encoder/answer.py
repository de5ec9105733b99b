import math
import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512, dropout=0.1):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(x + self.pe[:x.size(0)])


class SequenceTagger(nn.Module):
    """tokens (S, N), one tag score vector for every position"""

    def __init__(self, vocab_size=1000, d_model=32, nhead=4, num_tags=9, pad_id=0):
        super().__init__()
        self.pad_id = pad_id
        self.scale = math.sqrt(d_model)
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        self.position = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model=d_model, nhead=nhead, dim_feedforward=64)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.tags = nn.Linear(d_model, num_tags)

    def forward(self, tokens):
        mask = (tokens == self.pad_id).t()
        x = self.position(self.embed(tokens) * self.scale)
        x = self.encoder(x, src_key_padding_mask=mask)
        return self.tags(x)
