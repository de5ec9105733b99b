import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

BSIZE = 16
SEQ_LEN = 8
LSIZE = 12
ASIZE, RSIZE = 3, 32
SIZE = 16

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class RolloutSequences(Dataset):
    def __init__(self, count):
        self.frames = torch.rand(count, SEQ_LEN + 1, 3, SIZE, SIZE)
        self.actions = torch.randn(count, SEQ_LEN, ASIZE)

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, i):
        return self.frames[i, :-1], self.actions[i], self.frames[i, 1:]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 4, stride=2)
        self.conv2 = nn.Conv2d(8, 16, 4, stride=2)
        self.fc_mu = nn.Linear(16 * 2 * 2, LSIZE)
        self.fc_logsigma = nn.Linear(16 * 2 * 2, LSIZE)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x)))).flatten(1)
        return self.fc_mu(x), self.fc_logsigma(x)


class MDRNN(nn.Module):
    def __init__(self, gaussians=3):
        super().__init__()
        self.gaussians = gaussians
        self.rnn = nn.LSTM(LSIZE + ASIZE, RSIZE)
        self.gmm = nn.Linear(RSIZE, (2 * LSIZE + 1) * gaussians)

    def forward(self, actions, latents):
        outs, _ = self.rnn(torch.cat([actions, latents], dim=-1))
        out = self.gmm(outs)
        stride = self.gaussians * LSIZE
        shape = (*out.shape[:2], self.gaussians, LSIZE)
        mus = out[..., :stride].view(shape)
        sigmas = out[..., stride:2 * stride].view(shape).exp()
        logpi = F.log_softmax(out[..., 2 * stride:], dim=-1)
        return mus, sigmas, logpi


def gmm_loss(batch, mus, sigmas, logpi):
    dist = torch.distributions.Normal(mus, sigmas)
    log_probs = logpi + dist.log_prob(batch.unsqueeze(-2)).sum(-1)
    return -torch.logsumexp(log_probs, dim=-1).mean()


def to_latent(vae_encoder, obs, next_obs):
    with torch.no_grad():
        latents = []
        for x in (obs, next_obs):
            mu, logsigma = vae_encoder(x.reshape(-1, 3, SIZE, SIZE))
            z = mu + logsigma.exp() * torch.randn_like(mu)
            latents.append(z.view(BSIZE, SEQ_LEN, LSIZE))
    return latents


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(RolloutSequences(75), batch_size=BSIZE, shuffle=True)
    encoder = Encoder().to(device).eval()
    mdrnn = MDRNN().to(device)
    optimizer = torch.optim.RMSprop(mdrnn.parameters(), lr=1e-3, alpha=0.9)
    for epoch in range(2):
        total = 0.0
        for obs, action, next_obs in train_loader:
            obs, action, next_obs = obs.to(device), action.to(device), next_obs.to(device)
            z, next_z = to_latent(encoder, obs, next_obs)
            action, z, next_z = (t.transpose(0, 1) for t in (action, z, next_z))
            loss = gmm_loss(next_z, *mdrnn(action, z)) / LSIZE
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(train_loader):.4f}")


if __name__ == "__main__":
    main()
