import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, 4, stride=4)
        self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(2)])
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        for blk in self.blocks:
            x = x + F.gelu(blk(x))
        return self.norm(x).mean(1)


class Head(nn.Module):
    def __init__(self, dim=16, out_dim=32):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(dim, 24), nn.GELU(), nn.Linear(24, out_dim))

    def forward(self, x):
        return self.mlp(x)


class Wrapper(nn.Module):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(self, x):
        return self.head(self.backbone(x))


def publish(path):
    full = {}
    full.update(Backbone().state_dict())
    full.update({"projection_head." + k[len("mlp."):]: v for k, v in Head().state_dict().items()})
    torch.save({"student": full, "epoch": 100}, path)


def restart_from_checkpoint(ckp_path, **kwargs):
    checkpoint = torch.load(ckp_path, map_location="cpu")
    for key, value in kwargs.items():
        if key in checkpoint:
            state = checkpoint[key]
            value.load_state_dict(state, strict=False)
            print("=> loaded '{}' from checkpoint '{}'".format(key, os.path.basename(ckp_path)))
    return checkpoint["epoch"]


path = os.path.join(tempfile.mkdtemp(), "full_ckpt.pth")
publish(path)
student = nn.DataParallel(Wrapper(Backbone(), Head()))
start_epoch = restart_from_checkpoint(path, student=student)

images, centers = torch.randn(32, 3, 16, 16), torch.randn(32, 32)
optimizer = torch.optim.AdamW(student.parameters(), lr=5e-4)
for epoch in range(start_epoch, start_epoch + 2):
    for i in range(0, 32, 8):
        optimizer.zero_grad()
        loss = F.mse_loss(student(images[i:i + 8]), centers[i:i + 8])
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
