"""Probabilistic forecasts from lagged values, after DeepAR."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LAGS = (1, 2, 3, 6, 12)


class DeepAR(nn.Module):
    """
    Args:
        past_target: values so far, (batch, history + max lag)
        past_time_feat: features of the last `history` steps, (batch, history, 4)
        future_time_feat: features of the steps to forecast, (batch, horizon, 4)
        feat_static_cat: id of the series, (batch,)
    """

    def __init__(self, series: int = 25, time_features: int = 4, hidden: int = 12):
        super().__init__()
        self.embedding = nn.Embedding(series, 3)
        self.rnn = nn.LSTM(
            len(LAGS) + time_features + 3, hidden, num_layers=2, batch_first=True
        )
        self.params = nn.Linear(hidden, 2)

    def lagged(self, sequence: Tensor, length: int) -> Tensor:
        total = sequence.shape[1]
        assert total >= length + max(LAGS), "history is too short for the lags"
        parts = [sequence[:, total - lag - length : total - lag] for lag in LAGS]
        return torch.stack(parts, dim=-1)

    def forward(
        self,
        past_target: Tensor,
        past_time_feat: Tensor,
        future_time_feat: Tensor,
        feat_static_cat: Tensor,
    ) -> tuple[Tensor, Tensor]:
        scale = past_target.abs().mean(dim=1, keepdim=True).clamp(min=1e-5)
        target = past_target / scale
        static = self.embedding(feat_static_cat)[:, None]
        length = past_time_feat.shape[1]
        inputs = torch.cat(
            [
                self.lagged(target, length),
                past_time_feat,
                static.expand(-1, length, -1),
            ],
            dim=-1,
        )
        _, state = self.rnn(inputs)
        locs, scales = [], []
        for step in range(future_time_feat.shape[1]):
            lagged = self.lagged(F.pad(target, (0, 1)), 1)
            feature = future_time_feat[:, step : step + 1]
            output, state = self.rnn(torch.cat([lagged, feature, static], -1), state)
            loc, spread = self.params(output[:, 0]).unbind(-1)
            locs.append(loc)
            scales.append(F.softplus(spread))
            target = torch.cat([target, loc[:, None]], dim=1)
        return torch.stack(locs, 1) * scale, torch.stack(scales, 1) * scale
