import math

import torch
import torch.nn as nn
from torch import Tensor


class PositionalEncoder(nn.Module):
    """Sine and cosine positions, for inputs (T, B, D) or, with batch_first, (B, T, D)."""

    def __init__(self, dropout: float = 0.1, max_seq_len: int = 5000, d_model: int = 512, batch_first: bool = True):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        self.batch_first = batch_first
        self.x_dim = 1 if batch_first else 0

        position = torch.arange(max_seq_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_seq_len, d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        pe = pe.unsqueeze(0 if batch_first else 1)
        self.register_buffer('pe', pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe.narrow(self.x_dim, 0, x.size(self.x_dim))
        return self.dropout(x)


class InfluenzaTransformer(nn.Module):
    """Encoder-decoder transformer for weekly ratios of influenza-like illness."""

    def __init__(self, input_size: int = 1, batch_first: bool = True, dim_val: int = 64, n_heads: int = 4,
                 n_encoder_layers: int = 2, n_decoder_layers: int = 2, dropout: float = 0.2):
        super().__init__()
        self.encoder_input_layer = nn.Linear(input_size, dim_val)
        self.decoder_input_layer = nn.Linear(input_size, dim_val)
        self.linear_mapping = nn.Linear(dim_val, input_size)
        self.positional_encoding_layer = PositionalEncoder(d_model=dim_val, dropout=0.1, batch_first=batch_first)

        encoder_layer = nn.TransformerEncoderLayer(dim_val, n_heads, 2 * dim_val, dropout, batch_first=batch_first)
        self.encoder = nn.TransformerEncoder(encoder_layer, num_layers=n_encoder_layers)
        decoder_layer = nn.TransformerDecoderLayer(dim_val, n_heads, 2 * dim_val, dropout, batch_first=batch_first)
        self.decoder = nn.TransformerDecoder(decoder_layer, num_layers=n_decoder_layers)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src = self.encoder_input_layer(src)
        src = self.positional_encoding_layer(src)
        memory = self.encoder(src)
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        out = self.decoder(self.decoder_input_layer(tgt), memory, tgt_mask=mask)
        return self.linear_mapping(out)
