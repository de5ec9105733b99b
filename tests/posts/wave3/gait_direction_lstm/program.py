import torch
import torch.nn as nn


class GaitEncoder(nn.Module):
    """Reads the joint angles of a walk in both directions of time."""

    def __init__(self, joints=28, units=64, layers=2):
        super().__init__()
        self.units = units
        self.prepare = nn.Sequential(nn.Linear(joints, 48), nn.LayerNorm(48), nn.GELU())
        self.lstm = nn.LSTM(48, units, layers, batch_first=True, bidirectional=True, dropout=0.1)

    def forward(self, angles):
        states, _ = self.lstm(self.prepare(angles))
        return states[:, -1, :]


class GaitClassifier(nn.Module):
    """Diagnosis from one recorded walk."""

    def __init__(self, diagnoses=10, units=64):
        super().__init__()
        self.encoder = GaitEncoder(units=units)
        self.drop = nn.Dropout(0.2)
        self.decide = nn.Linear(2 * units, diagnoses)

    def forward(self, angles):
        walk = self.encoder(angles)
        return self.decide(self.drop(walk))
