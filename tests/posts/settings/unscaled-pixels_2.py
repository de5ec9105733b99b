# line 40: the validation batches are cast to float without the division by 255 that the training batches have
import torch
import torch.nn as nn

torch.manual_seed(28)


class Standardise(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(1, -1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(1, -1, 1, 1))

    def forward(self, x):
        return x.sub(self.mean).div(self.std)


class DigitLab:
    def __init__(self, images, digits, cut):
        self.images, self.digits, self.cut = images, digits, cut
        self.prep = Standardise([0.1307], [0.3081])
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1), nn.Linear(8 * 49, 10)
        )
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)

    def train_epoch(self):
        self.net.train()
        for rows in torch.randperm(self.cut).split(32):
            x = self.prep(self.images[rows].to(torch.float32) * (1 / 255))
            self.opt.zero_grad()
            nn.functional.cross_entropy(self.net(x), self.digits[rows]).backward()
            self.opt.step()

    @torch.no_grad()
    def validate(self):
        self.net.eval()
        right, rows = 0, torch.arange(self.cut, len(self.digits))
        for part in rows.split(50):
            x = self.prep(self.images[part].to(torch.float32))
            right += (self.net(x).argmax(1) == self.digits[part]).sum().item()
        return right / len(rows)


digits = torch.randint(10, (420,))
glyphs = torch.randint(0, 200, (10, 1, 16, 16))
images = (glyphs[digits] + torch.randint(0, 55, (420, 1, 16, 16))).to(torch.uint8)
lab = DigitLab(images, digits, 320)
for epoch in range(4):
    lab.train_epoch()
    print(epoch, lab.validate())
