# line 29: torchvision's random flip is called once for the picture and once for its mask: two draws
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class RoofTiles(Dataset):
    def __init__(self, n, augment):
        self.image, self.mask = self.draw(n)
        self.augment = augment
        self.flip = transforms.RandomHorizontalFlip(p=0.5)

    @staticmethod
    def draw(n):
        mask = torch.zeros(n, 1, 16, 16)
        for i in range(n):
            r, c = torch.randint(0, 9, (2,)).tolist()
            mask[i, :, r : r + 7, c : c + 5] = 1
        return 0.7 * mask + 0.4 * torch.randn(n, 1, 16, 16), mask

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        image, mask = self.image[i], self.mask[i]
        if self.augment:
            image = self.flip(image)
            mask = self.flip(mask)
        return image, mask


def iou(net, loader):
    net.eval()
    inter = union = 0
    with torch.no_grad():
        for image, mask in loader:
            found, true = net(image) > 0, mask > 0.5
            inter += (found & true).sum().item()
            union += (found | true).sum().item()
    return inter / max(union, 1)


torch.manual_seed(63)
train = DataLoader(RoofTiles(200, augment=True), batch_size=20, shuffle=True)
test = DataLoader(RoofTiles(60, augment=False), batch_size=20)
net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    net.train()
    for image, mask in train:
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(net(image), mask).backward()
        opt.step()
    print("epoch", epoch, "iou", round(iou(net, test), 3))
