from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class TimeSeriesConfig:
    prediction_length: int = 12
    context_length: int = 36
    d_model: int = 32
    num_time_features: int = 2
    num_static_categorical_features: int = 1
    cardinality: list = field(default_factory=lambda: [366])
    embedding_dimension: list = field(default_factory=lambda: [8])


class FeatureEmbedder(nn.Module):
    def __init__(self, cardinalities, embedding_dims):
        super().__init__()
        self.embedders = nn.ModuleList([nn.Embedding(c, d) for c, d in zip(cardinalities, embedding_dims)])

    def forward(self, features):
        slices = torch.chunk(features, len(self.embedders), dim=-1)
        return torch.cat([embed(s.squeeze(-1)) for embed, s in zip(self.embedders, slices)], dim=-1)


class TimeSeriesTransformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedder = FeatureEmbedder(config.cardinality, config.embedding_dimension)
        width = 1 + config.num_time_features + sum(config.embedding_dimension) + 1
        self.value_embedding = nn.Linear(width, config.d_model)
        self.future_embedding = nn.Linear(width - 1, config.d_model)
        self.transformer = nn.Transformer(config.d_model, 4, 1, 1, 64, dropout=0.1, batch_first=True)
        self.parameter_projection = nn.Linear(config.d_model, 2)

    def forward(self, past_values, past_time_features, static_categorical_features, future_values, future_time_features):
        scale = past_values.abs().mean(dim=1, keepdim=True).clamp(min=1e-3)
        static = torch.cat([self.embedder(static_categorical_features), scale.log()], dim=-1)
        past = torch.cat([(past_values / scale).unsqueeze(-1), past_time_features,
                          static.unsqueeze(1).expand(-1, past_values.size(1), -1)], dim=-1)
        future = torch.cat([future_time_features, static.unsqueeze(1).expand(-1, future_time_features.size(1), -1)], dim=-1)
        out = self.transformer(self.value_embedding(past), self.future_embedding(future))
        mean, log_std = self.parameter_projection(out).unbind(-1)
        distr = torch.distributions.Normal(mean, log_std.exp())
        return -distr.log_prob(future_values / scale).mean()


class RetailDataset(Dataset):
    """weekly takings of the stores of a chain, one series per store"""

    def __init__(self, config, num_stores=800, weeks=104, seed=0):
        rng = np.random.default_rng(seed)
        level = rng.gamma(5., 20., size=(num_stores, 1))
        season = 1 + 0.3 * np.sin(2 * np.pi * np.arange(weeks) / 52)
        self.sales = (level * season * rng.lognormal(0, 0.1, (num_stores, weeks))).astype(np.float32)
        self.week = np.stack([np.arange(weeks) % 52 / 52, np.log1p(np.arange(weeks))], -1).astype(np.float32)
        self.config, self.rng = config, rng

    def __len__(self):
        return len(self.sales)

    def __getitem__(self, store):
        c, p = self.config.context_length, self.config.prediction_length
        start = self.rng.integers(self.sales.shape[1] - c - p)
        past, future = slice(start, start + c), slice(start + c, start + c + p)
        return {
            "past_values": self.sales[store, past], "past_time_features": self.week[past],
            "static_categorical_features": np.array([store]),
            "future_values": self.sales[store, future], "future_time_features": self.week[future],
        }


config = TimeSeriesConfig()  # as in the checkpoint of the tourism data
model = TimeSeriesTransformer(config)
device = "cuda" if torch.cuda.is_available() else "cpu"
model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=1e-1)
loader = DataLoader(RetailDataset(config), batch_size=64, shuffle=True)

model.train()
for epoch in range(2):
    for idx, batch in enumerate(loader):
        optimizer.zero_grad()
        loss = model(**{k: v.to(device) for k, v in batch.items()})
        loss.backward()
        optimizer.step()
        if idx % 5 == 0:
            print(epoch, idx, loss.item())
