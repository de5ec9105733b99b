"""Train embeddings of songs with triplets, then look up neighbours."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(0)
torch.manual_seed(0)


class Songs:
    def __init__(self, count=50, artists=5, features=18):
        rng = np.random.default_rng(4)
        self.artist = np.arange(count) % artists
        centres = rng.normal(0, 2, (artists, features))
        self.audio = (centres[self.artist] + rng.normal(0, 1, (count, features))).astype("f4")


class Triplets(Dataset):
    def __init__(self, songs):
        self.songs = songs

    def __len__(self):
        return len(self.songs.artist)

    def __getitem__(self, i):
        same = np.flatnonzero(self.songs.artist == self.songs.artist[i])
        other = np.flatnonzero(self.songs.artist != self.songs.artist[i])
        j, k = random.choice(same.tolist()), random.choice(other.tolist())
        return tuple(torch.from_numpy(self.songs.audio[n]) for n in (i, j, k))


class Plain(Dataset):
    def __init__(self, songs):
        self.songs = songs

    def __len__(self):
        return len(self.songs.artist)

    def __getitem__(self, i):
        return torch.from_numpy(self.songs.audio[i]), self.songs.artist[i]


class Embedder(nn.Module):
    def __init__(self, features=18, size=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, size))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=1)


songs = Songs()
model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.TripletMarginLoss(margin=0.5)
loader = DataLoader(Triplets(songs), batch_size=10, shuffle=True)
for epoch in range(3):
    for anchor, positive, negative in loader:
        loss = criterion(model(anchor), model(positive), model(negative))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} triplet loss {loss.item():.4f}")

model.eval()
vectors, artists = [], []
with torch.no_grad():
    for audio, artist in DataLoader(Plain(songs), batch_size=16):
        vectors.append(model(audio))
        artists.append(artist)
vectors = torch.stack(vectors)
artists = torch.cat(artists)
similar = vectors @ vectors.T
similar.fill_diagonal_(-1)
nearest = similar.argmax(dim=1)
print("same artist:", (artists[nearest] == artists).float().mean().item())
