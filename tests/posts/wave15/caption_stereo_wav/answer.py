import os
import tempfile
import wave

import numpy as np
import torch
import torch.nn as nn

SAMPLE_RATE = 16000
EMOTIONS = {0: "speaks calmly", 1: "sounds excited", 2: "sounds sad"}


def record_samples(folder, seconds=1.2):
    """a few sounds in the way our recorder app stores them (16 bit, left and right)"""
    rng = np.random.default_rng(5)
    paths = []
    t = np.arange(int(SAMPLE_RATE * seconds)) / SAMPLE_RATE
    for k, pitch in enumerate([130, 260, 95, 180]):
        tone = 0.4 * np.sin(2 * np.pi * pitch * t) * (1 + 0.3 * np.sin(2 * np.pi * 4 * t))
        left = tone + 0.01 * rng.standard_normal(len(t))
        right = 0.8 * tone + 0.01 * rng.standard_normal(len(t))
        pcm = (np.stack([left, right], axis=1) * 32767).astype("<i2")
        path = os.path.join(folder, f"utt_{k}.wav")
        with wave.open(path, "wb") as f:
            f.setnchannels(2)
            f.setsampwidth(2)
            f.setframerate(SAMPLE_RATE)
            f.writeframes(pcm.tobytes())
        paths.append(path)
    return paths


def read_wav(path):
    with wave.open(path, "rb") as f:
        channels = f.getnchannels()
        raw = np.frombuffer(f.readframes(f.getnframes()), dtype="<i2")
    data = raw.astype(np.float32) / 32768.0
    if channels > 1:
        data = data.reshape(-1, channels).mean(axis=1)
    return data


class FeatureExtractor(nn.Module):
    """strided convolutions over the waveform, in the manner of HuBERT"""

    def __init__(self, dim=32):
        super().__init__()
        spec = [(10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2)]
        layers, channels = [], 1
        for kernel, stride in spec:
            layers += [nn.Conv1d(channels, dim, kernel, stride, bias=False), nn.GELU()]
            channels = dim
        self.layers = nn.Sequential(*layers)

    def forward(self, wav):
        return self.layers(wav.unsqueeze(1)).transpose(1, 2)


class QFormerHead(nn.Module):
    def __init__(self, dim=32, n_query=4, n_out=len(EMOTIONS)):
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, n_query, dim) * 0.02)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, n_out)

    def forward(self, feats):
        q = self.query.expand(feats.size(0), -1, -1)
        h, _ = self.attn(q, feats, feats)
        return self.out(self.norm(h).mean(dim=1))


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.extractor = FeatureExtractor()
        self.head = QFormerHead()

    def forward(self, wav):
        return self.head(self.extractor(wav))


@torch.no_grad()
def describe(model, path):
    data = read_wav(path)
    wav = torch.from_numpy(data).unsqueeze(0)
    wav = (wav - wav.mean()) / (wav.std() + 1e-7)
    probs = model(wav).softmax(dim=-1)[0]
    best = int(probs.argmax())
    return EMOTIONS[best], float(probs[best])


def main():
    torch.manual_seed(1)
    folder = tempfile.mkdtemp()
    paths = record_samples(folder)
    model = Captioner().eval()
    for path in paths:
        text, p = describe(model, path)
        print(f"{os.path.basename(path)}: the speaker {text} ({p:.2f})")


if __name__ == "__main__":
    main()
