import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(12, 20)

    def forward(self, x):
        return torch.relu(self.fc(x))


class Model(nn.Module):
    """Frozen backbone in float16 to save memory, trainable head in float32."""

    def __init__(self, n_out=5):
        super().__init__()
        self.backbone = Backbone().half().eval()
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.head = nn.Linear(20, n_out)

    def forward(self, x):
        with torch.no_grad():
            f = self.backbone(x.half())
        return self.head(f)


def example_inputs():
    return (torch.randn(3, 12),)
