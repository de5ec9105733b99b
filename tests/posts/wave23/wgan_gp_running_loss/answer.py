import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

Z_DIM = 8
LAMBDA = 10.0


def ring_points(n):
    angle = torch.rand(n) * 6.2832
    radius = 1.0 + 0.05 * torch.randn(n)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)


def mlp(in_features, out_features, hidden=32):
    return nn.Sequential(
        nn.Linear(in_features, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, out_features),
    )


def gradient_penalty(critic, real, fake):
    mix = torch.rand(real.size(0), 1, device=real.device)
    points = (mix * real + (1 - mix) * fake).requires_grad_(True)
    scores = critic(points)
    grads = torch.autograd.grad(
        outputs=scores,
        inputs=points,
        grad_outputs=torch.ones_like(scores),
        create_graph=True,
    )[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


def train(epochs=4, batch_size=32):
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(ring_points(320)), batch_size=batch_size, shuffle=True)
    generator = mlp(Z_DIM, 2).to(device)
    critic = mlp(2, 1).to(device)
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))

    history = {"critic": [], "generator": []}
    for epoch in range(epochs):
        critic_loss, generator_loss = 0.0, 0.0
        for (real,) in loader:
            real = real.to(device)
            fake = generator(torch.randn(real.size(0), Z_DIM, device=device))
            gp = gradient_penalty(critic, real, fake.detach())
            loss_c = critic(fake.detach()).mean() - critic(real).mean() + LAMBDA * gp
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()

            loss_g = -critic(fake).mean()
            opt_g.zero_grad()
            loss_g.backward()
            opt_g.step()

            critic_loss += loss_c.item()
            generator_loss += loss_g.item()
        history["critic"].append(critic_loss / len(loader))
        history["generator"].append(generator_loss / len(loader))
        print(f"epoch {epoch} critic {history['critic'][-1]:.4f} "
              f"generator {history['generator'][-1]:.4f}")
    return history


if __name__ == "__main__":
    curves = train()
    best = min(range(len(curves["critic"])), key=lambda i: abs(curves["critic"][i]))
    print("epoch with the smallest critic loss:", best)
