import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_sequences(n=256, steps=20, obs_dim=6, state_dim=2, seed=5):
    """noisy observations of a rotating two-dimensional state"""
    g = torch.Generator().manual_seed(seed)
    angle = torch.tensor(0.3)
    rot = torch.tensor([[torch.cos(angle), -torch.sin(angle)],
                        [torch.sin(angle), torch.cos(angle)]])
    loading = torch.randn(state_dim, obs_dim, generator=g)
    state = torch.randn(n, state_dim, generator=g)
    obs = []
    for _ in range(steps):
        state = state @ rot.T + 0.02 * torch.randn(n, state_dim, generator=g)
        obs.append(state @ loading + 0.05 * torch.randn(n, obs_dim, generator=g))
    return torch.stack(obs, dim=1)


class Encoder(nn.Module):
    def __init__(self, obs_dim, latent_dim, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim, hidden)
        self.fc2 = nn.Linear(hidden, latent_dim)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class Decoder(nn.Module):
    def __init__(self, latent_dim, obs_dim, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(latent_dim, hidden)
        self.fc2 = nn.Linear(hidden, obs_dim)

    def forward(self, z):
        return self.fc2(torch.tanh(self.fc1(z)))


def objective(encoder, decoder, transition, x):
    z = encoder(x)
    recon = F.mse_loss(decoder(z), x)
    predicted = z[:, :-1] @ transition
    dynamics = F.mse_loss(decoder(predicted), x[:, 1:])
    return recon, dynamics


def main():
    torch.manual_seed(0)
    data = make_sequences()
    train, test = data[:200], data[200:]
    latent_dim = 2

    encoder = Encoder(data.size(-1), latent_dim)
    decoder = Decoder(latent_dim, data.size(-1))
    transition = torch.eye(latent_dim).requires_grad_()

    params = itertools.chain(*encoder.parameters(), *decoder.parameters(), *[transition])
    optimizer = torch.optim.Adam(params, lr=5e-3)

    for epoch in range(40):
        order = torch.randperm(len(train))
        total = 0.0
        for idx in order.split(50):
            recon, dynamics = objective(encoder, decoder, transition, train[idx])
            loss = recon + dynamics
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        if (epoch + 1) % 10 == 0:
            print('epoch %3d  loss %.4f' % (epoch + 1, total / len(train)))

    with torch.no_grad():
        recon, dynamics = objective(encoder, decoder, transition, test)
    print('test recon %.4f dynamics %.4f' % (recon, dynamics))
    print('transition', transition.detach().numpy().round(2).tolist())


if __name__ == '__main__':
    main()
