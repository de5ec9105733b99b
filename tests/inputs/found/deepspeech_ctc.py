"""Speech recognition with CTC: convolutions, a bidirectional GRU, a character head."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class MaskConv(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, x, lengths):
        # x: B x 1 x F x T
        for layer in self.layers:
            x = layer(x)
            if isinstance(layer, nn.Conv2d):
                stride = layer.stride[1]
                lengths = torch.div(lengths - 1, stride, rounding_mode="floor") + 1
                steps = torch.arange(x.size(3), device=x.device)
                mask = steps[None, :] >= lengths[:, None]
                x = x.masked_fill(mask[:, None, None, :], 0.0)
        return x, lengths


class DeepSpeech(nn.Module):
    def __init__(self, n_mels=40, hidden=24, n_chars=29):
        super().__init__()
        self.n_mels = n_mels
        self.conv = MaskConv(
            nn.ModuleList(
                [
                    nn.Conv2d(1, 4, (11, 5), stride=(2, 2), padding=(5, 2)),
                    nn.BatchNorm2d(4),
                    nn.Hardtanh(0, 20),
                    nn.Conv2d(4, 4, (11, 5), stride=(2, 1), padding=(5, 2)),
                    nn.BatchNorm2d(4),
                    nn.Hardtanh(0, 20),
                ]
            )
        )
        self.rnn = nn.GRU(4 * (n_mels // 4), hidden, bidirectional=True)
        self.head = nn.Linear(hidden, n_chars)

    def forward(self, spectrograms, lengths):
        """spectrograms (B, n_mels, T) padded with zeros, lengths (B,) in frames"""
        x, lengths = self.conv(spectrograms.unsqueeze(1), lengths)
        x = x.flatten(1, 2).permute(2, 0, 1)
        total = x.size(0)
        packed = pack_padded_sequence(x, lengths.cpu(), enforce_sorted=False)
        packed, _ = self.rnn(packed)
        x, _ = pad_packed_sequence(packed, total_length=total)
        x = x.view(x.size(0), x.size(1), 2, -1).sum(2)
        return F.log_softmax(self.head(x), dim=-1), lengths
