# line 31: PolynomialLR is given the number of epochs but is stepped with each batch, so the rate is 0 early in the training
import torch
from torch import nn
from torch.optim.lr_scheduler import PolynomialLR

config = {"epochs": 8, "batch": 20, "lr": 0.05, "power": 0.9}


class SegHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Conv2d(1, 12, 5, padding=2)
        self.score = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        return self.score(torch.relu(self.features(x)))


def discs(n):
    yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    centre = 4 + 8 * torch.rand(n, 2, 1, 1)
    mask = ((yy - centre[:, 0]) ** 2 + (xx - centre[:, 1]) ** 2 < 9).float().unsqueeze(1)
    return mask + 0.5 * torch.randn_like(mask), mask


torch.manual_seed(29)
image, mask = discs(160)
net = SegHead()
opt = torch.optim.SGD(net.parameters(), lr=config["lr"], momentum=0.9)
per_epoch = (len(image) + config["batch"] - 1) // config["batch"]
poly = PolynomialLR(opt, total_iters=config["epochs"], power=config["power"])


def one_epoch():
    running = 0.0
    for rows in torch.randperm(len(image)).split(config["batch"]):
        loss = nn.functional.binary_cross_entropy_with_logits(net(image[rows]), mask[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        poly.step()
        running += loss.item() * len(rows)
    return running / len(image)


for epoch in range(config["epochs"]):
    print(epoch, round(one_epoch(), 4))
