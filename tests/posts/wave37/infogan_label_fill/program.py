import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

params = {'batch_size': 32, 'num_epochs': 1, 'learning_rate': 2e-4, 'beta1': 0.5, 'beta2': 0.999,
          'num_z': 30, 'num_dis_c': 1, 'dis_c_dim': 6, 'num_con_c': 2}
seed = 1123
np.random.seed(seed)
torch.manual_seed(seed)
device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')


def glyphs(n):
    x = -np.ones((n, 1, 28, 28), 'float32')
    kind = np.random.randint(0, 6, n)
    for i, k in enumerate(kind):
        off = np.random.randint(-2, 3)
        if k % 2:
            x[i, 0, 4 + 3 * k + off: 7 + 3 * k + off, 4:24] = 1
        else:
            x[i, 0, 4:24, 4 + 3 * k + off: 7 + 3 * k + off] = 1
    return torch.from_numpy(x)


class Generator(nn.Module):
    def __init__(self, in_dim):
        super().__init__()
        self.tconv1 = nn.ConvTranspose2d(in_dim, 128, 7, bias=False)
        self.bn1 = nn.BatchNorm2d(128)
        self.tconv2 = nn.ConvTranspose2d(128, 32, 4, 2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.tconv3 = nn.ConvTranspose2d(32, 1, 4, 2, padding=1)

    def forward(self, x):
        x = torch.relu(self.bn1(self.tconv1(x)))
        x = torch.relu(self.bn2(self.tconv2(x)))
        return torch.tanh(self.tconv3(x))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.1),
                                  nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.1),
                                  nn.Conv2d(64, 128, 7, bias=False), nn.BatchNorm2d(128), nn.LeakyReLU(0.1))

    def forward(self, x):
        return self.body(x)


class DHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(128, 1, 1)

    def forward(self, x):
        return torch.sigmoid(self.conv(x))


class QHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(128, 64, 1)
        self.disc = nn.Conv2d(64, params['dis_c_dim'], 1)
        self.mu = nn.Conv2d(64, params['num_con_c'], 1)
        self.var = nn.Conv2d(64, params['num_con_c'], 1)

    def forward(self, x):
        x = torch.nn.functional.leaky_relu(self.conv1(x), 0.1)
        return self.disc(x).squeeze(-1).squeeze(-1), self.mu(x).flatten(1), torch.exp(self.var(x).flatten(1))


def noise_sample(n):
    z = torch.randn(n, params['num_z'], 1, 1, device=device)
    idx = np.random.randint(params['dis_c_dim'], size=n)
    dis_c = torch.zeros(n, params['dis_c_dim'], device=device)
    dis_c[torch.arange(n), idx] = 1.0
    con_c = torch.rand(n, params['num_con_c'], device=device) * 2 - 1
    return torch.cat((z, dis_c.view(n, -1, 1, 1), con_c.view(n, -1, 1, 1)), dim=1), idx, con_c


def normal_nll(x, mu, var):
    return -(-0.5 * (var * 2 * np.pi + 1e-6).log() - (x - mu).pow(2).div(var * 2.0 + 1e-6)).sum(1).mean()


dataloader = DataLoader(TensorDataset(glyphs(256)), batch_size=params['batch_size'], shuffle=True)
netG = Generator(params['num_z'] + params['dis_c_dim'] + params['num_con_c']).to(device)
discriminator, netD, netQ = Discriminator().to(device), DHead().to(device), QHead().to(device)
criterionD = nn.BCELoss()
criterionQ_dis = nn.CrossEntropyLoss()
betas = (params['beta1'], params['beta2'])
optimD = optim.Adam(list(discriminator.parameters()) + list(netD.parameters()), lr=params['learning_rate'], betas=betas)
optimG = optim.Adam(list(netG.parameters()) + list(netQ.parameters()), lr=params['learning_rate'], betas=betas)

real_label = 1
fake_label = 0

for epoch in range(params['num_epochs']):
    for i, (data,) in enumerate(dataloader):
        b_size = data.size(0)
        real_data = data.to(device)

        optimD.zero_grad()
        label = torch.full((b_size, ), real_label, device=device)
        probs_real = netD(discriminator(real_data)).view(-1)
        loss_real = criterionD(probs_real, label)
        loss_real.backward()

        label.fill_(fake_label)
        noise, idx, con_c = noise_sample(b_size)
        fake_data = netG(noise)
        probs_fake = netD(discriminator(fake_data.detach())).view(-1)
        loss_fake = criterionD(probs_fake, label)
        loss_fake.backward()
        optimD.step()

        optimG.zero_grad()
        output = discriminator(fake_data)
        label.fill_(real_label)
        gen_loss = criterionD(netD(output).view(-1), label)
        q_logits, q_mu, q_var = netQ(output)
        G_loss = gen_loss + criterionQ_dis(q_logits, torch.as_tensor(idx, device=device)) + 0.1 * normal_nll(con_c, q_mu, q_var)
        G_loss.backward()
        optimG.step()
    print('[%d/%d]\tLoss_D: %.4f\tLoss_G: %.4f' % (epoch + 1, params['num_epochs'], loss_real + loss_fake, G_loss))
