import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

LAMBDA_GP, N_CRITIC, Z_DIM = 10.0, 3, 8


def mlp(i, o, h=48):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1, device=real.device)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    scores = critic(mixed)
    grads = torch.autograd.grad(
        outputs=scores,
        inputs=mixed,
        grad_outputs=torch.ones_like(scores),
        create_graph=True,
    )[0]
    norm = grads.norm(2, dim=1)
    return ((norm - 1) ** 2).mean(), norm.mean().item()


def eight_gaussians(n):
    k = torch.randint(0, 8, (n,)) * (torch.pi / 4)
    return 2 * torch.stack([k.cos(), k.sin()], dim=1) + 0.05 * torch.randn(n, 2)


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(eight_gaussians(1024)), batch_size=64, shuffle=True, drop_last=True)
    generator, critic = mlp(Z_DIM, 2), mlp(2, 1)
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    step = 0
    for epoch in range(5):
        for (real,) in loader:
            z = torch.randn(real.size(0), Z_DIM)
            fake = generator(z).detach()
            gp, norm = gradient_penalty(critic, real, fake)
            loss_c = critic(fake).mean() - critic(real).mean() + LAMBDA_GP * gp
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
            step += 1
            if step % N_CRITIC == 0:
                loss_g = -critic(generator(torch.randn(real.size(0), Z_DIM))).mean()
                opt_g.zero_grad()
                loss_g.backward()
                opt_g.step()
        print(f"epoch {epoch} critic {loss_c.item():.3f} gen {loss_g.item():.3f} grad norm {norm:.3f}")


if __name__ == "__main__":
    main()
