import copy
import math
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class TrainingArgs:
    steps: int = 40
    prompts_per_step: int = 8
    group_size: int = 8
    num_inference_steps: int = 6
    noise_level: float = 0.5
    clip_range: float = 0.2
    kl_beta: float = 2.0
    adv_clip: float = 5.0
    lr: float = 1e-3
    seed: int = 42


class VelocityNet(nn.Module):
    """Predicts the flow velocity of a 4-d latent from latent, time and prompt."""

    def __init__(self, dim=4, n_prompts=6, hidden=64):
        super().__init__()
        self.prompt = nn.Embedding(n_prompts, 16)
        self.net = nn.Sequential(nn.Linear(dim + 1 + 16, hidden), nn.SiLU(),
                                 nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, dim))

    def forward(self, x, t, prompt):
        return self.net(torch.cat([x, t.expand(x.size(0), 1), self.prompt(prompt)], dim=1))


def sde_step(velocity, x, dt, noise_level, next_x=None):
    std = noise_level * math.sqrt(dt)
    mean = x + velocity * dt
    if next_x is None:
        next_x = mean + std * torch.randn_like(x)
    log_prob = (-((next_x.detach() - mean) ** 2) / (2 * std ** 2)).mean(dim=1)
    return next_x, log_prob


def pretrain(model, centres, steps=150):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        prompt = torch.randint(0, len(centres), (128,))
        x1 = centres[prompt] + 0.2 * torch.randn(128, 4)
        x0 = torch.randn_like(x1)
        t = torch.rand(128, 1)
        xt = (1 - t) * x0 + t * x1
        pred = model.net(torch.cat([xt, t, model.prompt(prompt)], dim=1))
        loss = ((pred - (x1 - x0)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class FlowGRPOTrainer:
    def __init__(self, model, args, reward_fn):
        self.model, self.args, self.reward_fn = model, args, reward_fn
        self.ref_model = copy.deepcopy(model).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    @torch.no_grad()
    def sample(self, prompt):
        a = self.args
        x, dt = torch.randn(len(prompt), 4), 1.0 / a.num_inference_steps
        trajectory = []
        for i in range(a.num_inference_steps):
            t = torch.full((1, 1), i * dt)
            next_x, log_prob = sde_step(self.model(x, t, prompt), x, dt, a.noise_level)
            trajectory.append((t, x, next_x, log_prob))
            x = next_x
        return x, trajectory

    def optimize(self, prompt, trajectory, advantages):
        a = self.args
        dt = 1.0 / a.num_inference_steps
        policy_sum, kl_sum = 0.0, 0.0
        for t, x, next_x, old_log_prob in trajectory:
            pred = self.model(x, t, prompt)
            _, log_prob = sde_step(pred, x, dt, a.noise_level, next_x)
            ratio = torch.exp(log_prob - old_log_prob)
            clipped = torch.clamp(ratio, 1 - a.clip_range, 1 + a.clip_range)
            policy_loss = torch.max(-advantages * ratio, -advantages * clipped).mean()
            loss = policy_loss
            if a.kl_beta > 0:
                with torch.no_grad():
                    ref_pred = self.ref_model(x, t, prompt)
                    kl_div = ((pred - ref_pred) ** 2).mean(dim=1)
                kl_loss = a.kl_beta * kl_div.mean()
                loss = loss + kl_loss
                kl_sum += kl_div.mean().item()
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            policy_sum += policy_loss.item()
        return policy_sum / len(trajectory), kl_sum / len(trajectory)

    def train(self):
        a = self.args
        for step in range(1, a.steps + 1):
            prompt = torch.randint(0, 6, (a.prompts_per_step,)).repeat_interleave(a.group_size)
            samples, trajectory = self.sample(prompt)
            grouped = self.reward_fn(samples).view(a.prompts_per_step, a.group_size)
            adv = (grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)
            adv = adv.flatten().clamp(-a.adv_clip, a.adv_clip)
            policy_loss, kl = self.optimize(prompt, trajectory, adv)
            if step % 10 == 0:
                print(f"step {step} reward {grouped.mean():.3f} policy {policy_loss:.4f} kl {kl:.4f}")


if __name__ == "__main__":
    args = TrainingArgs()
    torch.manual_seed(args.seed)
    net = VelocityNet()
    pretrain(net, centres=torch.randn(6, 4))
    FlowGRPOTrainer(net, args, reward_fn=lambda x: x[:, 0] - 0.1 * x[:, 1] ** 2).train()
