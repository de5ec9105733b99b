import torch
from torch import nn


class SongEncoder(nn.Module):
    def __init__(self, n_songs, dim):
        super().__init__()
        self.pad = n_songs
        self.table = nn.Embedding(n_songs, dim, padding_idx=n_songs)

    def forward(self, ids):
        real = (ids != self.pad).unsqueeze(-1)
        return self.table(ids), real


class Model(nn.Module):
    """Next song of a playlist, bag of songs and the last one."""

    def __init__(self, n_songs=150, dim=18, hidden=30):
        super().__init__()
        self.songs = SongEncoder(n_songs, dim)
        self.mlp = nn.Sequential(
            nn.Linear(2 * dim, hidden), nn.Tanh(), nn.Linear(hidden, n_songs)
        )

    def forward(self, playlist):
        x, real = self.songs(playlist)
        n = real.sum(1).clamp(min=1)
        bag = (x * real).sum(1) / n
        last = x[torch.arange(len(x), device=x.device), n.squeeze(1) - 1]
        return self.mlp(torch.cat([bag, last], dim=1))


def example_inputs():
    ids = torch.randint(0, 150, (5, 12))
    ids[1, 7:] = 150
    ids[4, 3:] = 150
    return (ids,)
