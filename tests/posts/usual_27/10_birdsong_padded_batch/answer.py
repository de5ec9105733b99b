import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

SPECIES = ("wren", "robin", "blackcap", "chiffchaff")
N_MELS = 20


class BirdSongs(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.songs = []
        for _ in range(n):
            species = int(rng.integers(len(SPECIES)))
            frames = int(rng.integers(25, 70))
            mel = rng.normal(0, 0.6, size=(frames, N_MELS)).astype("float32")
            band = 4 * species + 2
            mel[:, band:band + 3] += np.abs(np.sin(np.arange(frames) / (2 + species)))[:, None].astype("float32")
            self.songs.append((mel, species))

    def __len__(self):
        return len(self.songs)

    def __getitem__(self, i):
        mel, species = self.songs[i]
        return torch.from_numpy(mel), species


def pad_songs(batch):
    batch = sorted(batch, key=lambda item: len(item[0]), reverse=True)
    mels, species = zip(*batch)
    lengths = torch.tensor([len(m) for m in mels])
    frames = pad_sequence(mels, batch_first=True)
    return {"frames": frames, "lengths": lengths, "species": torch.tensor(species)}


class SongEncoder(nn.Module):
    def __init__(self, n_mels, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(n_mels)
        self.gru = nn.GRU(n_mels, hidden, batch_first=True, bidirectional=True)

    def forward(self, frames, lengths):
        packed = pack_padded_sequence(self.norm(frames), lengths, batch_first=True)
        _, h = self.gru(packed)
        return torch.cat([h[0], h[1]], dim=-1)


class SongClassifier(nn.Module):
    def __init__(self, n_species, hidden=32):
        super().__init__()
        self.encoder = SongEncoder(N_MELS, hidden)
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(2 * hidden, n_species))

    def forward(self, batch):
        return self.head(self.encoder(batch["frames"], batch["lengths"]))


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    loss_sum = hits = count = 0
    with torch.set_grad_enabled(training):
        for batch in loader:
            logits = model(batch)
            loss = criterion(logits, batch["species"])
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            n = len(batch["species"])
            loss_sum += loss.item() * n
            hits += (logits.argmax(-1) == batch["species"]).sum().item()
            count += n
    return loss_sum / count, hits / count


torch.manual_seed(0)
train_loader = DataLoader(BirdSongs(120, 0), batch_size=12, shuffle=True, collate_fn=pad_songs)
valid_loader = DataLoader(BirdSongs(48, 1), batch_size=12, collate_fn=pad_songs)
model = SongClassifier(len(SPECIES))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    train_loss, train_acc = run_epoch(model, train_loader, criterion, optimizer)
    valid_loss, valid_acc = run_epoch(model, valid_loader, criterion)
    print(f"{epoch} train {train_loss:.3f}/{train_acc:.2f} valid {valid_loss:.3f}/{valid_acc:.2f}")
