import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)

params = {"batch_size": 16, "num_epochs": 1, "num_z": 30, "num_dis_c": 1, "dis_c_dim": 10, "learning_rate": 2e-4, "beta1": 0.5}


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.tconv = nn.Sequential(
            nn.ConvTranspose2d(40, 64, 7, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            nn.ConvTranspose2d(64, 32, 4, 2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.ConvTranspose2d(32, 1, 4, 2, padding=1), nn.Sigmoid(),
        )

    def forward(self, x):
        return self.tconv(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.1),
            nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.1),
        )
        self.head = nn.Conv2d(64, 1, 7)
        self.q = nn.Conv2d(64, 10, 7)

    def forward(self, x):
        features = self.body(x)
        return torch.sigmoid(self.head(features)), self.q(features).flatten(1)


def noise_sample(batch):
    z = torch.randn(batch, params["num_z"], 1, 1)
    idx = torch.randint(0, params["dis_c_dim"], (batch,))
    code = torch.zeros(batch, params["dis_c_dim"], 1, 1)
    code[torch.arange(batch), idx] = 1.0
    return torch.cat([z, code], dim=1), idx


netG, netD = Generator(), Discriminator()
criterionD = nn.BCELoss()
criterionQ_dis = nn.CrossEntropyLoss()
optimD = optim.Adam([*netD.body.parameters(), *netD.head.parameters()], lr=params["learning_rate"], betas=(params["beta1"], 0.999))
optimG = optim.Adam([*netG.parameters(), *netD.q.parameters()], lr=params["learning_rate"], betas=(params["beta1"], 0.999))

real_label = 1
fake_label = 0

dataloader = [torch.rand(params["batch_size"], 1, 28, 28) for _ in range(6)]
for epoch in range(params["num_epochs"]):
    for i, real_data in enumerate(dataloader):
        b_size = real_data.size(0)
        optimD.zero_grad()
        label = torch.full((b_size,), real_label)
        probs_real = netD(real_data)[0].view(-1)
        loss_real = criterionD(probs_real, label)
        loss_real.backward()

        label.fill_(fake_label)
        noise, idx = noise_sample(b_size)
        fake_data = netG(noise)
        probs_fake = netD(fake_data.detach())[0].view(-1)
        loss_fake = criterionD(probs_fake, label)
        loss_fake.backward()
        optimD.step()

        optimG.zero_grad()
        label.fill_(real_label)
        probs, q_logits = netD(fake_data)
        G_loss = criterionD(probs.view(-1), label) + criterionQ_dis(q_logits, idx)
        G_loss.backward()
        optimG.step()
        print("[%d/%d] D %.4f G %.4f" % (epoch + 1, i, (loss_real + loss_fake).item(), G_loss.item()))
