import torch
import torch.nn as nn
import torch.nn.functional as F


class SpecCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d((4, 4)),
        )
        self.classifier = nn.Linear(16 * 4 * 4, 35)

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.flatten(1))


def spectrogram(wave):
    window = torch.hann_window(64)
    spec = torch.stft(wave, n_fft=64, hop_length=16, window=window, return_complex=True)
    return torch.log1p(spec.abs())


def main(wave, label):
    spec = spectrogram(wave)  # (batch, freq, frames)
    image = F.interpolate(spec, size=(48, 48), mode="bilinear")
    model = SpecCNN()
    logits = model(image)
    return logits, F.cross_entropy(logits, label)


def example_inputs():
    return torch.randn(3, 1000), torch.randint(0, 35, (3,))
