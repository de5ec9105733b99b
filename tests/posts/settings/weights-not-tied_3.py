# line 16: the shared output embedding is a deepcopy of the input embedding: two parameters from then on
import copy

import torch
import torch.nn.functional as F
from torch import nn


class PlaylistModel(nn.Module):
    """Predicts the next song of a playlist from the songs before it."""

    def __init__(self, songs, dim=24, share_embeddings=True):
        super().__init__()
        self.song_in = nn.Embedding(songs, dim)
        if share_embeddings:
            self.song_out = copy.deepcopy(self.song_in)
        else:
            self.song_out = nn.Embedding(songs, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(songs))

    def forward(self, playlist):
        states, _ = self.rnn(self.song_in(playlist))
        return F.linear(states, self.song_out.weight, self.bias)


def playlists(n, length, songs):
    start = torch.randint(songs, (n, 1))
    jumps = torch.randint(1, 4, (n, length)).cumsum(1)
    return (start + jumps) % songs


def train(model, data, epochs=4):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        total, count = 0.0, 0
        for batch in torch.utils.data.DataLoader(data, 32, shuffle=True):
            scores = model(batch[:, :-1])
            loss = F.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(batch)
            count += len(batch)
        print(f"epoch {epoch}: {total / count:.3f}")


torch.manual_seed(31)
train(PlaylistModel(50), playlists(320, 12, 50))
