import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, DataLoader


class MelPairDataset(Dataset):
    """Content features and mel frames of one utterance, stored as .npy."""

    def __init__(self, filelist, max_frames=60):
        with open(filelist) as f:
            self.items = [line.strip().split("|") for line in f if line.strip()]
        self.max_frames = max_frames

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        bn_path, mel_path, spk = self.items[idx]
        bn = torch.from_numpy(np.load(bn_path))
        mel = torch.from_numpy(np.load(mel_path))
        return bn, mel, int(spk)

    def custom_collate_fn(self, batch):
        bns, mels, spks = zip(*batch)
        lengths = torch.tensor([min(len(m), self.max_frames) for m in mels])
        bns = pad_sequence([b[:self.max_frames] for b in bns], batch_first=True)
        mels = pad_sequence([m[:self.max_frames] for m in mels], batch_first=True)
        return {"bn": bns, "mel": mels, "spk": torch.tensor(spks), "lengths": lengths}


class Converter(nn.Module):
    def __init__(self, bn_dim=32, n_mels=40, n_spk=4, hidden=64):
        super().__init__()
        self.spk = nn.Embedding(n_spk, hidden)
        self.inp = nn.Linear(bn_dim, hidden)
        self.convs = nn.ModuleList([nn.Conv1d(hidden, hidden, 5, padding=2) for _ in range(3)])
        self.out = nn.Linear(hidden, n_mels)

    def forward(self, bn, spk):
        h = self.inp(bn) + self.spk(spk)[:, None, :]
        h = h.transpose(1, 2)
        for conv in self.convs:
            h = h + F.gelu(conv(h))
        return self.out(h.transpose(1, 2))


class Trainer:
    def __init__(self, model, dataset, batch_size=6, epochs=2, lr=1e-3):
        self.model = model
        self.epochs = epochs
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.train_dataloader = DataLoader(
            dataset,
            batch_size=batch_size,
            shuffle=True,
            num_workers=0,
            collate_fn=MelPairDataset.custom_collate_fn,
            drop_last=True,
        )

    def train(self):
        self.model.train()
        for epoch in range(self.epochs):
            running = 0.0
            for batch in self.train_dataloader:
                mask = torch.arange(batch["mel"].size(1))[None, :] < batch["lengths"][:, None]
                pred = self.model(batch["bn"], batch["spk"])
                loss = ((pred - batch["mel"]).abs().mean(-1) * mask).sum() / mask.sum()
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                running += loss.item()
            print(f"epoch {epoch} l1 {running / len(self.train_dataloader):.4f}")


def write_features(folder, n=26):
    rng = np.random.default_rng(2)
    rows = []
    for i in range(n):
        frames = int(rng.integers(30, 90))
        bn, mel = os.path.join(folder, f"{i}_bn.npy"), os.path.join(folder, f"{i}_mel.npy")
        np.save(bn, rng.normal(size=(frames, 32)).astype(np.float32))
        np.save(mel, rng.normal(size=(frames, 40)).astype(np.float32))
        rows.append(f"{bn}|{mel}|{i % 4}")
    path = os.path.join(folder, "train.list")
    with open(path, "w") as f:
        f.write("\n".join(rows))
    return path


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        dataset = MelPairDataset(write_features(folder))
        Trainer(Converter(), dataset).train()
