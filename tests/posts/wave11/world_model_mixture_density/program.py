import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)

SEQ_LEN, BSIZE, LATENT, ACTION, HIDDEN, GAUSSIANS = 16, 8, 4, 3, 64, 5


class MixtureRNN(nn.Module):
    """Predicts a mixture of gaussians over the next latent, the reward and the end of the episode."""

    def __init__(self, latents, actions, hiddens, gaussians):
        super().__init__()
        self.latents = latents
        self.gaussians = gaussians
        self.rnn = nn.LSTM(latents + actions, hiddens)
        self.head = nn.Linear(hiddens, (2 * latents + 1) * gaussians + 2)

    def forward(self, actions, latents):
        seq_len, bs = actions.size(0), actions.size(1)
        outs, _ = self.rnn(torch.cat([actions, latents], dim=-1))
        out = self.head(outs)

        n = self.gaussians * self.latents
        mus = out[..., :n].view(seq_len, bs, self.gaussians, self.latents)
        sigmas = torch.exp(out[..., n:2 * n].view(seq_len, bs, self.gaussians, self.latents))
        pi = out[..., 2 * n:2 * n + self.gaussians].view(seq_len, bs, self.gaussians)
        logpi = F.log_softmax(pi, dim=-2)
        rewards = out[..., -2]
        terminals = out[..., -1]
        return mus, sigmas, logpi, rewards, terminals


def mixture_nll(target, mus, sigmas, logpi):
    log_prob = Normal(mus, sigmas).log_prob(target.unsqueeze(-2)).sum(dim=-1)
    return -torch.logsumexp(logpi + log_prob, dim=-1).mean()


class Rollouts(Dataset):
    def __init__(self, count):
        g = torch.Generator().manual_seed(7)
        self.actions = torch.randn(count, SEQ_LEN, ACTION, generator=g)
        steps = 0.3 * torch.randn(count, SEQ_LEN + 1, LATENT, generator=g)
        jumps = (torch.rand(count, SEQ_LEN + 1, 1, generator=g) < 0.5).float() * 2 - 1
        self.latents = steps + jumps
        self.rewards = torch.rand(count, SEQ_LEN, generator=g)
        self.terminals = (torch.rand(count, SEQ_LEN, generator=g) < 0.05).float()

    def __len__(self):
        return len(self.actions)

    def __getitem__(self, i):
        return (self.latents[i, :-1], self.actions[i], self.rewards[i],
                self.terminals[i], self.latents[i, 1:])


def get_loss(model, latent, action, reward, terminal, next_latent):
    latent, action, reward, terminal, next_latent = [
        t.transpose(0, 1) for t in (latent, action, reward, terminal, next_latent)]
    mus, sigmas, logpi, rs, ds = model(action, latent)
    nll = mixture_nll(next_latent, mus, sigmas, logpi)
    bce = F.binary_cross_entropy_with_logits(ds, terminal)
    mse = F.mse_loss(rs, reward)
    return nll, bce, mse, (nll + bce + mse) / (LATENT + 2)


model = MixtureRNN(LATENT, ACTION, HIDDEN, GAUSSIANS)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.9)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'min', factor=0.5, patience=5)
train_loader = DataLoader(Rollouts(128), batch_size=BSIZE, shuffle=True)

for epoch in range(4):
    model.train()
    sums = [0.0, 0.0, 0.0]
    for batch in train_loader:
        nll, bce, mse, loss = get_loss(model, *batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sums = [s + v.item() for s, v in zip(sums, (nll, bce, mse))]
    n = len(train_loader)
    scheduler.step(sums[0] / n)
    print('epoch {} gmm {:.3f} bce {:.3f} mse {:.3f}'.format(epoch, *[s / n for s in sums]))
