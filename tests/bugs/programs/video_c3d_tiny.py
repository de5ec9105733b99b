import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, n_actions=6):
        super().__init__()
        self.conv1 = nn.Conv3d(3, 8, kernel_size=3, padding=1)
        self.pool1 = nn.MaxPool3d((1, 2, 2))
        self.conv2 = nn.Conv3d(8, 16, kernel_size=3, padding=1)
        self.pool2 = nn.MaxPool3d(2)
        self.fc = nn.Linear(16, n_actions)

    def forward(self, clip):
        x = F.relu(self.conv1(clip))
        x = self.pool1(x)
        x = F.relu(self.conv2(x))
        x = self.pool2(x)
        x = F.adaptive_avg_pool3d(x, 1).flatten(1)
        return self.fc(x)


def load_clip(n_frames=8, size=28):
    """Stand-in for the decoder: a list of (C, H, W) frames."""
    frames = [torch.rand(3, size, size) for _ in range(n_frames)]
    return torch.stack(frames, dim=0)


def example_inputs():
    batch = torch.stack([load_clip(), load_clip()])
    return (batch,)
