import argparse
import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F


class Generalized_RCNN(nn.Module):
    """one fixed grid of regions instead of the proposals, the heads as in the large model"""

    def __init__(self, num_classes=81, dim=64):
        super().__init__()
        self.num_classes = num_classes
        self.Conv_Body = nn.Sequential(
            nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
            nn.Conv2d(32, dim, 3, stride=2, padding=1), nn.BatchNorm2d(dim), nn.ReLU(inplace=True))
        self.Box_Head = nn.Sequential(nn.Flatten(), nn.Linear(dim * 7 * 7, 128), nn.ReLU(inplace=True))
        self.Box_Outs = nn.ModuleDict({'cls_score': nn.Linear(128, num_classes),
                                       'bbox_pred': nn.Linear(128, 4 * num_classes)})
        self.Mask_Head = nn.Sequential(nn.Conv2d(dim, dim, 3, padding=1), nn.ReLU(inplace=True),
                                       nn.ConvTranspose2d(dim, dim, 2, 2), nn.ReLU(inplace=True))
        self.Mask_Outs = nn.ModuleDict({'classify': nn.Conv2d(dim, num_classes, 1)})

    def forward(self, images):
        features = self.Conv_Body(images)
        regions = F.adaptive_avg_pool2d(features, 7)
        box = self.Box_Head(regions)
        return (self.Box_Outs['cls_score'](box), self.Box_Outs['bbox_pred'](box),
                self.Mask_Outs['classify'](self.Mask_Head(regions)))


def train(path, num_classes, steps):
    model = Generalized_RCNN(num_classes=num_classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in range(steps):
        images = torch.rand(4, 3, 64, 64)
        labels = torch.randint(0, num_classes, (4,))
        scores, boxes, masks = model(images)
        loss = F.cross_entropy(scores, labels) + 0.01 * boxes.abs().mean() + masks.sigmoid().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print('step', step, 'loss', loss.item())
    torch.save({'step': steps, 'model': model.state_dict()}, path)


def test(path, n_images=3):
    maskRCNN = Generalized_RCNN()
    checkpoint = torch.load(path, map_location='cpu')
    maskRCNN.load_state_dict(checkpoint['model'])
    maskRCNN.eval()
    with torch.no_grad():
        for i in range(n_images):
            scores, boxes, masks = maskRCNN(torch.rand(1, 3, 64, 64))
            print('image', i, 'class', scores.argmax(1).item(), 'mask', tuple(masks.shape))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--num_classes', type=int, default=3, help='with the background')
    parser.add_argument('--steps', type=int, default=4)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'model_step.pth')
        train(path, args.num_classes, args.steps)
        test(path)
