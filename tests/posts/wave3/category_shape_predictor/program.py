import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
N_VERTS = 995


class ShapePredictor(nn.Module):
    """Predicts how the vertices of a category mesh move for one image."""

    def __init__(self, feat_dim=128, hidden=256):
        super().__init__()
        self.mean_v = nn.Parameter(F.normalize(torch.randn(N_VERTS, 3), dim=1))
        self.layers = nn.Sequential(
            nn.Linear(feat_dim, hidden), nn.LeakyReLU(0.1),
            nn.Linear(hidden, hidden), nn.LeakyReLU(0.1),
            nn.Linear(hidden, N_VERTS * 3), nn.Tanh())

    def forward(self, feat):
        shape_delta = self.layers(feat).view(-1, N_VERTS, 3)
        shape_delta -= shape_delta.mean(1, keepdim=True)
        return self.mean_v[None] + 0.1 * shape_delta, shape_delta


class ImageEncoder(nn.Module):
    def __init__(self, feat_dim=128):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU(True),
            nn.Conv2d(16, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(True),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, feat_dim))

    def forward(self, img):
        return self.net(img)


encoder = ImageEncoder()
shape_predictor = ShapePredictor()
params = list(encoder.parameters()) + list(shape_predictor.parameters())
optimizer = torch.optim.AdamW(params, lr=1e-4)

imgs = torch.rand(80, 3, 64, 64)
points = F.normalize(torch.randn(80, N_VERTS, 3), dim=2) * 1.1
for it in range(3):
    idx = torch.randint(0, 80, (32,))
    feat = encoder(imgs[idx])
    verts, shape_delta = shape_predictor(feat)
    recon_loss = (verts - points[idx]).pow(2).sum(2).mean()
    reg_loss = shape_delta.norm(dim=2).mean()
    total_loss = recon_loss + 0.01 * reg_loss
    optimizer.zero_grad()
    total_loss.mean().backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()
    print('iter %d recon %.4f reg %.4f' % (it, recon_loss.item(), reg_loss.item()))
