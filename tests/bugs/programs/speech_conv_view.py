# emotion recognition from MFCCs, adapted from a course notebook
import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_MFCC = 20
EMOTIONS = ["angry", "calm", "fear", "happy", "neutral", "sad"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(NUM_MFCC, 32, kernel_size=5, padding=2)
        self.conv2 = nn.Conv1d(32, 64, kernel_size=5, padding=2)
        self.bn1 = nn.BatchNorm1d(32)
        self.bn2 = nn.BatchNorm1d(64)
        self.fc = nn.Linear(64, len(EMOTIONS))

    def forward(self, mfcc):
        batch_size, time_steps, n = mfcc.shape
        # Conv1d wants (batch, channels, time)
        x = mfcc.view(batch_size, n, time_steps)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool1d(x, 2)
        x = F.relu(self.bn2(self.conv2(x)))
        x = x.mean(dim=2)
        return self.fc(x)


def example_inputs():
    return (torch.randn(4, 94, NUM_MFCC),)
