import torch
import torch.nn as nn


class SubNet(nn.Module):
    def __init__(self, in_size, hidden_size, dropout):
        super().__init__()
        self.norm = nn.BatchNorm1d(in_size)
        self.drop = nn.Dropout(p=dropout)
        self.linear = nn.Linear(in_size, hidden_size)

    def forward(self, x):
        return torch.relu(self.linear(self.drop(self.norm(x))))


class TextSubNet(nn.Module):
    def __init__(self, in_size, hidden_size, out_size):
        super().__init__()
        self.rnn = nn.LSTM(in_size, hidden_size, batch_first=True)
        self.linear = nn.Linear(hidden_size, out_size)

    def forward(self, x):
        _, (h, _) = self.rnn(x)
        return self.linear(h.squeeze(0))


class Model(nn.Module):
    """Sentiment from sound, video and text (CMU-MOSI)."""

    def __init__(self, ins=(15, 12, 40), outs=(8, 10, 16), dropout=0.2):
        super().__init__()
        self.audio = SubNet(ins[0], outs[0], dropout)
        self.video = SubNet(ins[1], outs[1], dropout)
        self.text = TextSubNet(ins[2], 32, outs[2])
        self.fusion = nn.Sequential(
            nn.Linear(sum(outs), 20), nn.ReLU(), nn.Linear(20, 1)
        )

    def forward(self, audio, video, text):
        a = self.audio(audio)
        v = self.video(video)
        t = self.text(text)
        joined = torch.stack([a, v, t], dim=1)
        # opinions lie between -3 and 3
        return 6 * torch.sigmoid(self.fusion(joined)) - 3


def example_inputs():
    return torch.randn(6, 15), torch.randn(6, 12), torch.randn(6, 20, 40)
