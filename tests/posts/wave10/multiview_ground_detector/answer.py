import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def conv_stack(in_c, mid, out_c):
    return nn.Sequential(nn.Conv2d(in_c, mid, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(mid, mid, 3, padding=2, dilation=2), nn.ReLU(),
                         nn.Conv2d(mid, out_c, 3, padding=4, dilation=4, bias=False))


def base_layers():
    return nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                         nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU())


def released_checkpoint(path, num_cam):
    net = nn.ModuleDict({
        'base_pt': base_layers(),
        'img_classifier': nn.Sequential(nn.Conv2d(32, 32, 1), nn.ReLU(), nn.Conv2d(32, 2, 1, bias=False)),
        'world_classifier': conv_stack(32 * num_cam + 2, 32, 1),
    })
    torch.save(net.state_dict(), path)


class PerspTransDetector(nn.Module):
    def __init__(self, num_cam, reducedgrid_shape=(30, 40)):
        super().__init__()
        self.num_cam = num_cam
        self.grid = reducedgrid_shape
        h, w = reducedgrid_shape
        yy, xx = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing='ij')
        self.coord_map = torch.stack([yy, xx]).unsqueeze(0)
        self.base_pt = base_layers()
        self.img_classifier = nn.Sequential(nn.Conv2d(32, 32, 1), nn.ReLU(), nn.Conv2d(32, 2, 1, bias=False))
        self.map_classifier = conv_stack(32 * num_cam + 2, 32, 1)

    def forward(self, imgs):
        B, N, C, H, W = imgs.shape
        world_features, imgs_result = [], []
        for cam in range(self.num_cam):
            img_feature = self.base_pt(imgs[:, cam])
            imgs_result.append(self.img_classifier(img_feature))
            world_features.append(F.interpolate(img_feature, self.grid, mode='bilinear', align_corners=False))
        world_features = torch.cat(world_features + [self.coord_map.repeat(B, 1, 1, 1)], dim=1)
        return self.map_classifier(world_features), imgs_result


def test(model, loader, cls_thres=0.4):
    model.eval()
    losses, found = 0, 0
    with torch.no_grad():
        for imgs, map_gt in loader:
            map_res, _ = model(imgs)
            losses += F.mse_loss(map_res, map_gt).item()
            found += (map_res > cls_thres).sum().item()
    print('Test, Loss: {:.6f}, detections: {}'.format(losses / len(loader), found))


def main():
    num_cam = 3
    resume = os.path.join(tempfile.mkdtemp(), 'MultiviewDetector.pth')
    released_checkpoint(resume, num_cam)

    imgs = torch.randn(6, num_cam, 3, 72, 128)
    map_gt = (torch.rand(6, 1, 30, 40) > 0.98).float()
    loader = DataLoader(TensorDataset(imgs, map_gt), batch_size=1)

    model = PerspTransDetector(num_cam)
    state_dict = {k.replace('world_classifier', 'map_classifier'): v for k, v in torch.load(resume).items()}
    model.load_state_dict(state_dict)
    print('Test loaded model...')
    test(model, loader)


if __name__ == '__main__':
    main()
