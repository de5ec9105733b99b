import torch
import torch.nn as nn
import torch.nn.functional as F


class DilatedStack(nn.Module):
    def __init__(self, cin, channels, settings):
        super().__init__()
        layers = []
        for kernel, dilation in settings:
            padding = tuple(d * (k - 1) // 2 for k, d in zip(kernel, dilation))
            layers += [nn.Conv2d(cin, channels, kernel, padding=padding, dilation=dilation),
                       nn.BatchNorm2d(channels), nn.ReLU()]
            cin = channels
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class AudioModel(nn.Module):
    """spectrogram (B, 2, frames, frequencies) -> (B, 8 * frequencies, frames, 1)"""

    def __init__(self):
        super().__init__()
        self.convs = DilatedStack(2, 24, [((1, 7), (1, 1)), ((7, 1), (1, 1)), ((5, 5), (1, 1)), ((5, 5), (2, 1))])
        self.last = nn.Sequential(nn.Conv2d(24, 8, 1), nn.BatchNorm2d(8), nn.ReLU())

    def forward(self, x):
        output_layer = self.last(self.convs(x))
        batch_size, _, height, _ = output_layer.size()
        output_layer = output_layer.permute(0, 2, 1, 3).contiguous().view(batch_size, height, -1, 1).permute(0, 2, 1, 3)
        return output_layer


class VideoModel(nn.Module):
    """face embeddings (B, 512, 75, 1) -> (B, 32, frames, 1)"""

    def __init__(self, frames):
        super().__init__()
        self.frames = frames
        self.convs = DilatedStack(512, 32, [((7, 1), (1, 1)), ((5, 1), (1, 1)), ((5, 1), (2, 1))])

    def forward(self, x):
        return F.interpolate(self.convs(x), size=(self.frames, 1), mode='nearest')


class SpeakerSeparation(nn.Module):
    def __init__(self, frames=298, frequencies=257, hidden=48):
        super().__init__()
        self.frames, self.frequencies = frames, frequencies
        self.audio_model = AudioModel()
        self.video_model = VideoModel(frames)
        self.lstm = nn.LSTM(8 * frequencies + 32, hidden, batch_first=True, bidirectional=True)
        self.fc1 = nn.Linear(2 * hidden, 128)
        self.complex_mask = nn.Linear(128, frequencies * 2)

    def forward(self, spectrogram, faces):
        mixed = torch.cat([self.audio_model(spectrogram), self.video_model(faces)], dim=1)
        features, _ = self.lstm(mixed.squeeze(-1).transpose(1, 2))
        mask = torch.sigmoid(self.complex_mask(F.relu(self.fc1(features))))
        mask = mask.view(-1, self.frames, self.frequencies, 2).permute(0, 3, 1, 2)
        return spectrogram * mask
