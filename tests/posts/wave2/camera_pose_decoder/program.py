import torch
import torch.nn as nn
import torch.nn.functional as F


class PoseEncoder(nn.Module):
    """two frames stacked in the channels"""

    def __init__(self, width=16):
        super().__init__()
        channels = [6, width, width * 2, width * 4, width * 8]
        self.convs = nn.ModuleList([nn.Conv2d(a, b, 3, stride=2, padding=1)
                                    for a, b in zip(channels[:-1], channels[1:])])
        self.num_ch = channels[-1]

    def forward(self, frames):
        x = (frames - 0.45) / 0.225
        for conv in self.convs:
            x = F.relu(conv(x))
        return x


def rot_from_axisangle(vec):
    """(B, 3) -> (B, 3, 3)"""
    angle = vec.norm(dim=1, keepdim=True)
    x, y, z = (vec / (angle + 1e-7)).unbind(dim=1)
    zero = torch.zeros_like(x)
    K = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=1).view(-1, 3, 3)
    s, c = torch.sin(angle).unsqueeze(-1), torch.cos(angle).unsqueeze(-1)
    return torch.eye(3, device=vec.device) + s * K + (1 - c) * (K @ K)


class PoseNet(nn.Module):
    """relative motion and its uncertainty, which the filter takes as a measurement"""

    def __init__(self):
        super().__init__()
        self.encoder = PoseEncoder()
        self.squeeze = nn.Conv2d(self.encoder.num_ch, 64, 1)
        self.pose = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 6, 1))
        self.covar = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 6, 1))

    def forward(self, frames):
        features = F.relu(self.squeeze(self.encoder(frames)))
        pose = self.pose(features).mean(dim=(2, 3)).view(-1, 1, 1, 6)
        covar = self.covar(features).mean(dim=(2, 3)).view(-1, 1, 1, 6)
        motion = 0.01 * pose.squeeze()
        log_var = covar.squeeze()
        axisangle, translation = motion[:, :3], motion[:, 3:]
        R = torch.diag_embed(torch.exp(log_var.clamp(-10, 10)))
        T = torch.cat([rot_from_axisangle(axisangle), translation.unsqueeze(-1)], dim=2)
        return T, R
