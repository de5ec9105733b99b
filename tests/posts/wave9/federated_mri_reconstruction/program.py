import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Undersampled(Dataset):
    """slices of one site: zero-filled images of undersampled k-space and the full ones"""

    def __init__(self, site, n=24, size=32):
        g = torch.Generator().manual_seed(site)
        target = F.interpolate(torch.rand(n, 1, 8, 8, generator=g), size=(size, size), mode='bilinear') * (1 + 0.3 * site)
        mask = (torch.rand(size, generator=g) < 0.3).float()
        mask[:3] = mask[-3:] = 1.
        self.image = torch.fft.ifft2(torch.fft.fft2(target) * mask).real
        self.target = target

    def __len__(self):
        return len(self.target)

    def __getitem__(self, i):
        return self.image[i], self.target[i]


class Recon(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, ch, 3, 2, 1), nn.ReLU(), nn.Conv2d(ch, ch * 2, 3, 2, 1), nn.ReLU())
        self.dec = nn.Sequential(nn.ConvTranspose2d(ch * 2, ch, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(ch, 1, 4, 2, 1))

    def forward(self, x):
        z = self.enc(x)
        return x + self.dec(z), z


def discriminator(ch=32):
    return nn.Sequential(nn.Conv2d(ch, 16, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(16 * 16, 1))


class LocalUpdate:
    """training at one source site; the latent features are aligned with those of the target site"""

    def __init__(self, args, dataset, target_dataset, device):
        self.args, self.device = args, device
        self.loader = DataLoader(dataset, batch_size=args.local_bs, shuffle=True)
        self.loader_target = DataLoader(target_dataset, batch_size=args.local_bs, shuffle=True)
        self.loss_func = nn.L1Loss()
        self.adv = nn.BCEWithLogitsLoss()

    def train(self, net, net_target, net_D):
        net.train()
        optimizer = torch.optim.Adam(net.parameters(), lr=self.args.lr)
        optimizer_D = torch.optim.Adam(net_D.parameters(), lr=self.args.lr)
        epoch_loss, epoch_adv = [], []
        for _ in range(self.args.local_ep):
            batch_loss, batch_adv = [], []
            for (input, target), (input_t, _) in zip(self.loader, self.loader_target):
                input, target, input_t = input.to(self.device), target.to(self.device), input_t.to(self.device)
                output, z_s = net(input)
                with torch.no_grad():
                    _, z_t = net_target(input_t)

                pred_s, pred_t = net_D(z_s.detach()), net_D(z_t)
                loss_D = self.adv(pred_s, torch.zeros_like(pred_s)) + self.adv(pred_t, torch.ones_like(pred_t))
                optimizer_D.zero_grad()
                loss_D.backward()
                optimizer_D.step()

                pred_s = net_D(z_s)
                loss_adv_g = self.adv(pred_s, torch.ones_like(pred_s)).detach().item()
                loss = self.loss_func(output, target) + self.args.lambda_adv * loss_adv_g
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                batch_loss.append(loss.item())
                batch_adv.append(loss_adv_g)
            epoch_loss.append(sum(batch_loss) / len(batch_loss))
            epoch_adv.append(sum(batch_adv) / len(batch_adv))
        return net.state_dict(), sum(epoch_loss) / len(epoch_loss), sum(epoch_adv) / len(epoch_adv)


def FedAvg(w):
    return {k: torch.stack([x[k].float() for x in w]).mean(0) for k in w[0]}


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--local_ep', type=int, default=1)
    parser.add_argument('--local_bs', type=int, default=8)
    parser.add_argument('--lr', type=float, default=1e-3)
    parser.add_argument('--lambda_adv', type=float, default=0.1)
    args = parser.parse_args()
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

    sites = [Undersampled(site) for site in range(4)]
    net_glob = Recon().to(device)
    nets_D = [discriminator().to(device) for _ in sites[1:]]
    for it in range(args.epochs):
        w_locals = []
        for site, net_D in zip(sites[1:], nets_D):
            local = LocalUpdate(args, site, sites[0], device)
            w, loss, adv = local.train(copy.deepcopy(net_glob), net_glob, net_D)
            w_locals.append(w)
        net_glob.load_state_dict(FedAvg(w_locals))
        print('Round {:3d}, loss {:.4f}, adversarial {:.4f}'.format(it, loss, adv))
