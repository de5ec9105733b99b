"""Action recognition from a slow and a fast stream of frames."""

import torch
import torch.nn as nn


def stage(inputs, outputs, temporal=1, stride=1):
    return nn.Sequential(
        nn.Conv3d(
            inputs,
            outputs,
            (temporal, 3, 3),
            stride=(1, stride, stride),
            padding=(temporal // 2, 1, 1),
            bias=False,
        ),
        nn.BatchNorm3d(outputs),
        nn.ReLU(inplace=True),
    )


class SlowFast(nn.Module):
    """The slow stream sees every eighth frame of what the fast stream sees."""

    def __init__(self, num_classes: int = 11, alpha: int = 8) -> None:
        super().__init__()
        self.slow1 = stage(3, 8, 1, stride=2)
        self.fast1 = stage(3, 4, 5, stride=2)
        self.lateral = nn.Conv3d(
            4, 8, (5, 1, 1), stride=(alpha, 1, 1), padding=(2, 0, 0)
        )
        self.slow2 = stage(16, 16, 3, stride=2)
        self.fast2 = stage(4, 4, 3, stride=2)
        self.pool = nn.AdaptiveAvgPool3d(1)
        self.fc = nn.Linear(20, num_classes)

    def forward(self, slow: torch.Tensor, fast: torch.Tensor) -> torch.Tensor:
        s, f = self.slow1(slow), self.fast1(fast)
        s = torch.cat([s, self.lateral(f)], dim=1)
        s, f = self.slow2(s), self.fast2(f)
        pooled = torch.cat([self.pool(s), self.pool(f)], dim=1)
        return self.fc(pooled.flatten(1))
