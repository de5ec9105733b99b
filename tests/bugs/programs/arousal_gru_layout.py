import torch
import torch.nn as nn

CFG = {"features": 12, "hidden": 20, "classes": 3}


class Model(nn.Module):
    """Arousal from skin conductance, a label for each step of a window."""

    def __init__(self, cfg=CFG):
        super().__init__()
        self.norm = nn.LayerNorm(cfg["features"])
        self.rnn = nn.GRU(cfg["features"], cfg["hidden"], num_layers=2)
        self.drop = nn.Dropout(0.0)
        self.fc = nn.Linear(cfg["hidden"], cfg["classes"])

    def forward(self, windows):
        # windows: (batch, time, features)
        batch, time, _ = windows.shape
        h, _ = self.rnn(self.norm(windows))
        scores = self.fc(self.drop(h))
        assert scores.shape[:2] == (batch, time)
        return scores.softmax(dim=-1)


def example_inputs():
    return (torch.randn(4, 30, 12),)
