import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LAMBDA_CONTENT = 100.0


class Generator(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 5, padding=2),
            nn.InstanceNorm2d(width),
            nn.ReLU(True),
            nn.Conv2d(width, width, 3, padding=1),
            nn.InstanceNorm2d(width),
            nn.ReLU(True),
            nn.Conv2d(width, 3, 5, padding=2),
            nn.Tanh(),
        )

    def forward(self, blurred):
        return torch.clamp(blurred + self.net(blurred), -1, 1)


class Discriminator(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(width, width * 2, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(width * 2, 1, 4, padding=1),
        )

    def forward(self, image):
        return self.net(image)


class DeblurModel:
    def __init__(self):
        self.netG = Generator().to(device)
        self.netD = Discriminator().to(device)
        self.opt_G = torch.optim.Adam(self.netG.parameters(), lr=1e-4, betas=(0.5, 0.999))
        self.opt_D = torch.optim.Adam(self.netD.parameters(), lr=1e-4, betas=(0.5, 0.999))

    def set_input(self, blurred, sharp):
        self.real_A = blurred.to(device)
        self.real_B = sharp.to(device)

    def forward(self):
        self.fake_B = self.netG(self.real_A)

    def backward_D(self):
        pred_fake = self.netD(self.fake_B)
        pred_real = self.netD(self.real_B)
        self.loss_D = 0.5 * (
            F.mse_loss(pred_fake, torch.zeros_like(pred_fake))
            + F.mse_loss(pred_real, torch.ones_like(pred_real))
        )
        self.loss_D.backward(retain_graph=True)

    def backward_G(self):
        pred_fake = self.netD(self.fake_B)
        self.loss_adv = F.mse_loss(pred_fake, torch.ones_like(pred_fake))
        self.loss_content = F.l1_loss(self.fake_B, self.real_B) * LAMBDA_CONTENT
        self.loss_G = self.loss_adv + self.loss_content
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()

        self.opt_D.zero_grad()
        self.backward_D()
        self.opt_D.step()

        self.opt_G.zero_grad()
        self.backward_G()
        self.opt_G.step()


def main():
    torch.manual_seed(1)
    sharp = torch.rand(12, 3, 32, 32) * 2 - 1
    blurred = F.avg_pool2d(sharp, 5, stride=1, padding=2)
    loader = DataLoader(TensorDataset(blurred, sharp), batch_size=4, shuffle=True)

    model = DeblurModel()
    for epoch in range(2):
        for blurred_batch, sharp_batch in loader:
            model.set_input(blurred_batch, sharp_batch)
            model.optimize_parameters()
        print(f"epoch {epoch}  D {model.loss_D.item():.3f}  G {model.loss_G.item():.3f}")


if __name__ == "__main__":
    main()
