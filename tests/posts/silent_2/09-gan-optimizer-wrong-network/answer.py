import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_generator(nz, n_out):
    return nn.Sequential(
        nn.Linear(nz, 64), nn.LeakyReLU(0.2),
        nn.Linear(64, 128), nn.BatchNorm1d(128), nn.LeakyReLU(0.2),
        nn.Linear(128, n_out), nn.Tanh(),
    )


def build_discriminator(n_in):
    return nn.Sequential(
        nn.Linear(n_in, 128), nn.LeakyReLU(0.2),
        nn.Linear(128, 64), nn.LeakyReLU(0.2),
        nn.Linear(64, 1),
    )


def main(opt):
    torch.manual_seed(opt.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    angle = torch.rand(1024) * 6.2832
    ring = torch.stack([angle.cos(), angle.sin()], dim=1) * 0.7 + 0.02 * torch.randn(1024, 2)
    loader = DataLoader(TensorDataset(ring), batch_size=opt.batch_size, shuffle=True,
                        drop_last=True)

    netG = build_generator(opt.nz, 2).to(device)
    netD = build_discriminator(2).to(device)
    criterion = nn.BCEWithLogitsLoss()
    opt_g = torch.optim.Adam(netG.parameters(), lr=opt.lr, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(netD.parameters(), lr=opt.lr, betas=(0.5, 0.999))

    for epoch in range(opt.niter):
        for (real,) in loader:
            real = real.to(device)
            b = real.size(0)
            ones, zeros = torch.ones(b, 1, device=device), torch.zeros(b, 1, device=device)
            fake = netG(torch.randn(b, opt.nz, device=device))

            netD.zero_grad()
            loss_d = criterion(netD(real), ones) + criterion(netD(fake.detach()), zeros)
            loss_d.backward()
            opt_d.step()

            netG.zero_grad()
            fake = netG(torch.randn(b, opt.nz, device=device))
            loss_g = criterion(netD(fake), ones)
            loss_g.backward()
            opt_g.step()
        print(f"[{epoch}/{opt.niter}] Loss_D {loss_d.item():.4f} Loss_G {loss_g.item():.4f}")

    netG.eval()
    with torch.no_grad():
        points = netG(torch.randn(256, opt.nz, device=device))
    print("mean radius", points.norm(dim=1).mean().item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--nz", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--niter", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
