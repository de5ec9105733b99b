# line 36: the bone offsets are expanded for the clips only, not for clips times frames, so bmm sees two batch sizes; mended by: expanding to the flattened number of frames
import torch
import torch.nn as nn
import torch.nn.functional as F


class Skeleton:
    """A small chain of joints in its rest pose."""

    def __init__(self, n_joints=7):
        self.n_joints = n_joints
        offs = torch.zeros(n_joints, 3)
        offs[:, 1] = 0.1
        self.rest = offs.cumsum(0)


def rotation_6d(x):
    a, b = x[..., :3], x[..., 3:]
    e1 = F.normalize(a, dim=-1)
    e2 = F.normalize(b - (e1 * b).sum(-1, keepdim=True) * e1, dim=-1)
    e3 = torch.cross(e1, e2, dim=-1)
    return torch.stack([e1, e2, e3], dim=-1)


class PoseNet(nn.Module):
    def __init__(self, skeleton, feat=20, hidden=32):
        super().__init__()
        self.register_buffer("rest", skeleton.rest)
        self.encoder = nn.GRU(feat, hidden, batch_first=True)
        self.root = nn.Linear(hidden, 6)

    def forward(self, imu):
        clips, frames, _ = imu.shape
        h, _ = self.encoder(imu)
        rot = rotation_6d(self.root(h).reshape(clips * frames, 6))
        rest = self.rest.unsqueeze(0).expand(clips, -1, -1)
        joints = torch.bmm(rest, rot.transpose(1, 2))
        return joints.view(clips, frames, -1, 3)


def mpjpe(pred, gt):
    return (pred - gt).norm(dim=-1).mean()


torch.manual_seed(11)
sk = Skeleton()
net = PoseNet(sk)
optim = torch.optim.AdamW(net.parameters(), lr=1e-3)
imu = torch.randn(6, 25, 20)
gt = rotation_6d(torch.randn(6, 25, 6)) @ sk.rest.t()
gt = gt.transpose(-1, -2)

for step in range(10):
    pred = net(imu)
    loss = mpjpe(pred, gt)
    optim.zero_grad()
    loss.backward()
    optim.step()
    if step % 5 == 0:
        print(step, round(loss.item(), 4))
