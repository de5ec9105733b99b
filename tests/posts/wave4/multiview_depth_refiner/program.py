import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Views(Dataset):
    """three neighbouring images and the depth map of the middle one"""

    def __init__(self, n=10, h=48, w=64):
        g = torch.Generator().manual_seed(3)
        self.img = torch.rand(n, 3, 3, h, w, generator=g)
        self.depth = torch.rand(n, h // 4, w // 4, generator=g) * 4 + 0.5

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.depth[i]


class MVSNet(nn.Module):
    def __init__(self, feat=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 24, 3, 2, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU(),
            nn.Conv2d(24, 24, 3, 2, 1, groups=24, bias=False), nn.BatchNorm2d(24), nn.ReLU(),
            nn.Conv2d(24, 40, 1, bias=False), nn.BatchNorm2d(40), nn.ReLU())
        self.feat_shrinker = nn.Conv2d(40, feat, 3, 1, 1)

    def forward(self, img):
        return self.feat_shrinker(self.backbone(img))


class DepthModel(nn.Module):
    def __init__(self, feat=16, planes=8):
        super().__init__()
        self.mvsnet = MVSNet(feat)
        self.cost_reg = nn.Sequential(nn.Conv2d(3 * feat, 48, 3, 1, 1), nn.ReLU(), nn.Conv2d(48, planes, 3, 1, 1))
        self.refine = nn.Sequential(nn.Conv2d(feat + 1, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, 1, 3, 1, 1))
        self.register_buffer('planes', torch.linspace(0.5, 4.5, planes))

    def forward(self, imgs):
        b, v = imgs.shape[:2]
        feats = self.mvsnet(imgs.flatten(0, 1)).unflatten(0, (b, v))
        prob = self.cost_reg(feats.flatten(1, 2)).softmax(dim=1)
        depth = (prob * self.planes[None, :, None, None]).sum(1, keepdim=True)
        return (depth + self.refine(torch.cat([feats[:, 1], depth], 1))).squeeze(1)


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = self.configure_optimizers(lr)

    def configure_optimizers(self, lr):
        m = self.model
        return torch.optim.Adam([
            {'params': m.mvsnet.parameters()},
            {'params': m.cost_reg.parameters()},
            {'params': m.refine.parameters()},
        ], lr=lr)

    def training_step(self, imgs, depth):
        self.model.train()
        self.model.mvsnet.backbone.eval()
        loss = F.l1_loss(self.model(imgs), depth)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer(DepthModel())
# weights of the classification network would be loaded into mvsnet.backbone here
loader = DataLoader(Views(), batch_size=4, shuffle=True)
for epoch in range(2):
    losses = [trainer.training_step(imgs, depth) for imgs, depth in loader]
    print('epoch', epoch, 'abs depth error', sum(losses) / len(losses))
