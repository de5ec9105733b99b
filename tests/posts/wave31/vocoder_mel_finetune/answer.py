import json
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

HOP = 64
N_MELS = 80


class ToyAcousticModel(nn.Module):
    """Text -> mel spectrogram; stands for the trained TTS model."""

    def __init__(self, n_tokens=40, dim=64):
        super().__init__()
        self.embed = nn.Embedding(n_tokens, dim)
        self.mixer = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.proj = nn.Linear(dim, N_MELS)

    def generate_spectrogram(self, tokens, durations):
        x = self.embed(tokens)
        x = torch.repeat_interleave(x, durations, dim=1)
        x = x + self.mixer(x)
        return self.proj(x)


class VocoderDataset(Dataset):
    """Pairs of audio segment and the mel frames that belong to it, both read from a manifest."""

    def __init__(self, manifest, n_segments):
        with open(manifest) as f:
            self.data = [json.loads(line) for line in f]
        self.n_segments = n_segments

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        sample = self.data[index]
        audio = torch.from_numpy(np.load(sample["audio_filepath"]))
        mel = torch.from_numpy(np.load(sample["mel_filepath"]))

        frames = self.n_segments // HOP
        if len(audio) > self.n_segments:
            start = torch.randint(0, mel.shape[1] - frames + 1, (1,)).item()
            mel = mel[:, start:start + frames]
            audio = audio[start * HOP:start * HOP + self.n_segments]
        else:
            mel = F.pad(mel, (0, frames - mel.shape[1]))
            audio = F.pad(audio, (0, self.n_segments - len(audio)))
        return audio, mel


class SmallVocoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Conv1d(N_MELS, 64, 7, padding=3)
        self.up1 = nn.ConvTranspose1d(64, 32, 16, stride=8, padding=4)
        self.up2 = nn.ConvTranspose1d(32, 16, 16, stride=8, padding=4)
        self.post = nn.Conv1d(16, 1, 7, padding=3)

    def forward(self, mel):
        x = F.leaky_relu(self.pre(mel), 0.1)
        x = F.leaky_relu(self.up1(x), 0.1)
        x = F.leaky_relu(self.up2(x), 0.1)
        return torch.tanh(self.post(x)).squeeze(1)


def write_finetuning_data(folder, n=16):
    """Run the acoustic model over the corpus and save what it predicts next to the recordings."""
    model = ToyAcousticModel().eval()
    manifest = os.path.join(folder, "train_manifest_mel.json")
    with open(manifest, "w") as out:
        for i in range(n):
            tokens = torch.randint(0, 40, (1, 30))
            durations = torch.randint(7, 11, (30,))
            with torch.no_grad():
                spectrogram = model.generate_spectrogram(tokens, durations)
            spectrogram = spectrogram[0].transpose(0, 1).numpy()

            n_samples = int(durations.sum()) * HOP
            t = np.arange(n_samples) / 8000
            audio = (0.4 * np.sin(2 * np.pi * (100 + 10 * i) * t)).astype(np.float32)

            mel_path = os.path.join(folder, "mel_%03d.npy" % i)
            audio_path = os.path.join(folder, "audio_%03d.npy" % i)
            np.save(mel_path, spectrogram)
            np.save(audio_path, audio)
            out.write(json.dumps({"audio_filepath": audio_path, "mel_filepath": mel_path}) + "\n")
    return manifest


def finetune(manifest):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(VocoderDataset(manifest, n_segments=8192), batch_size=4, shuffle=True)
    vocoder = SmallVocoder().to(device)
    optimizer = torch.optim.AdamW(vocoder.parameters(), lr=2e-4, betas=(0.8, 0.99))
    for epoch in range(3):
        total = 0.0
        for audio, mel in loader:
            audio, mel = audio.to(device), mel.to(device)
            loss = F.l1_loss(vocoder(mel), audio)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d: l1 %.4f" % (epoch, total / len(loader)))


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        finetune(write_finetuning_data(folder))
