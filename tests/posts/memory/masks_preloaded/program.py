import torch
import torch.nn as nn
import torch.nn.functional as F

IMAGES = 550
MASKS = 200
HEIGHT, WIDTH = 480, 640
EVERY = 1
device = torch.device("cuda")


class Camera:
    def __init__(self, uid):
        self.uid = uid
        masks = torch.zeros(MASKS, HEIGHT, WIDTH, dtype=torch.bool)
        for m in range(MASKS):
            top, left = (37 * m + uid) % (HEIGHT - 60), (53 * m + uid) % (WIDTH - 80)
            masks[m, top:top + 60, left:left + 80] = True
        self.masks = masks.to(device)
        self.pose = torch.randn(12, device=device)


class FeatureField(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(14, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, dim))

    def forward(self, uv, pose):
        return F.normalize(self.net(torch.cat([uv, pose.expand(len(uv), -1)], dim=1)), dim=1)


def contrastive_loss(features, votes):
    similarity = features @ features.T
    votes = votes.float()
    together = votes @ votes.T > 0
    return F.relu(similarity[~together]).mean() - similarity[together].mean()


cameras = []
for uid in range(0, IMAGES, EVERY):
    cameras.append(Camera(uid))
print("loaded", len(cameras), "cameras")

field = FeatureField().to(device)
optimizer = torch.optim.Adam(field.parameters(), lr=1e-3)
for iteration in range(10000):
    camera = cameras[iteration % len(cameras)]
    rows = torch.randint(0, HEIGHT, (1024,), device=device)
    cols = torch.randint(0, WIDTH, (1024,), device=device)
    votes = camera.masks[:, rows, cols].T
    uv = torch.stack([rows / HEIGHT, cols / WIDTH], dim=1)
    loss = contrastive_loss(field(uv, camera.pose), votes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 500 == 0:
        print(iteration, loss.item())
