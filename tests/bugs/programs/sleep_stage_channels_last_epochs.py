import torch
import torch.nn as nn

hparams = dict(
    n_channels=6,
    n_filters=24,
    kernel=5,
    n_stages=5,
    gru_hidden=32,
)


class ConvFrontend(nn.Module):
    def __init__(self, hp):
        super().__init__()
        pad = hp["kernel"] // 2
        self.conv1 = nn.Conv1d(hp["n_channels"], hp["n_filters"], hp["kernel"], padding=pad)
        self.conv2 = nn.Conv1d(hp["n_filters"], hp["n_filters"], hp["kernel"], padding=pad)
        self.pool = nn.MaxPool1d(2)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return x


class Model(nn.Module):
    def __init__(self, hp=hparams):
        super().__init__()
        self.frontend = ConvFrontend(hp)
        self.gru = nn.GRU(hp["n_filters"], hp["gru_hidden"], batch_first=True)
        self.classifier = nn.Linear(hp["gru_hidden"], hp["n_stages"])

    def forward(self, epochs):
        # epochs: (batch, time, channels) as the recorder writes them
        mean = epochs.mean(dim=1, keepdim=True)
        z = epochs - mean
        z = self.frontend(z)
        z, _ = self.gru(z.transpose(1, 2))
        return self.classifier(z.mean(dim=1))


def example_inputs():
    return (torch.randn(3, 100, 6),)
