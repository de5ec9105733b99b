import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class KittiFrames(Dataset):
    """a frame and its neighbour"""

    def __init__(self, n=22, shape=(3, 32, 96)):
        self.n, self.shape = n, shape

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        rgb = F.interpolate(torch.rand(1, 3, 4, 12, generator=g), size=self.shape[1:], mode='bilinear')[0]
        return {'idx': i, 'rgb': rgb, 'rgb_context': torch.roll(rgb, shifts=2, dims=2)}


class DepthNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ELU(),
                                  nn.Conv2d(width, width, 3, padding=1), nn.ELU(),
                                  nn.Conv2d(width, 1, 3, padding=1), nn.Sigmoid())

    def forward(self, rgb):
        return self.body(rgb)


class SelfSupModel(nn.Module):
    def __init__(self, smooth_weight=0.05):
        super().__init__()
        self.depth_net = DepthNet()
        self.smooth_weight = smooth_weight

    def warp(self, image, shift):
        b, _, h, w = image.shape
        theta = torch.eye(2, 3).expand(b, -1, -1)
        grid = F.affine_grid(theta, (b, 1, h, w), align_corners=False).clone()
        grid = torch.stack([grid[..., 0] + shift[:, 0] * 0.3, grid[..., 1]], dim=-1)
        return F.grid_sample(image, grid, padding_mode='border', align_corners=False)

    def forward(self, batch):
        inv_depth = self.depth_net(batch['rgb'])
        photo = (self.warp(batch['rgb_context'], inv_depth) - batch['rgb']).abs().mean()
        smooth = (inv_depth[..., 1:] - inv_depth[..., :-1]).abs().mean()
        loss = photo + self.smooth_weight * smooth
        return {'loss': loss, 'metrics': {'photometric': photo.detach(), 'smoothness': smooth.detach()}}


class ModelWrapper:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)

    def training_step(self, batch):
        output = self.model(batch)
        return {'loss': output['loss'], 'metrics': output['metrics']}

    def training_epoch_end(self, output_batch):
        average = sum(o['loss'] for o in output_batch) / len(output_batch)
        print('epoch', 'loss %.4f' % average.item())


class Trainer:
    def __init__(self, max_epochs=2):
        self.max_epochs = max_epochs

    def fit(self, module, loader):
        for _ in range(self.max_epochs):
            self.train(loader, module, module.optimizer)

    def train(self, dataloader, module, optimizer):
        module.model.train()
        outputs = []
        for i, batch in enumerate(dataloader):
            optimizer.zero_grad()
            output = module.training_step(batch)
            output['loss'].backward()
            optimizer.step()
            output['loss'] = output['loss'].detach()
            outputs.append(output)
        return module.training_epoch_end(outputs)


if __name__ == '__main__':
    torch.manual_seed(0)
    Trainer().fit(ModelWrapper(SelfSupModel()), DataLoader(KittiFrames(), batch_size=4, shuffle=True))
