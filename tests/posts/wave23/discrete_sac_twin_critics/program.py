import torch
import torch.nn as nn
import torch.nn.functional as F


def make_mlp(n_in, n_out, hidden=64):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.Tanh(), nn.Linear(hidden, n_out))


class DiscreteSACLoss(nn.Module):
    """Critic and actor losses for categorical actions with an ensemble of critics."""

    def __init__(self, obs_dim, n_actions, num_qvalue_nets=2, gamma=0.99, alpha=0.1):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha
        self.actor = make_mlp(obs_dim, n_actions)
        self.critics = nn.ModuleList(make_mlp(obs_dim, n_actions) for _ in range(num_qvalue_nets))
        self.targets = nn.ModuleList(make_mlp(obs_dim, n_actions) for _ in range(num_qvalue_nets))
        self.targets.load_state_dict(self.critics.state_dict())
        self.targets.requires_grad_(False)

    def policy(self, observation):
        log_prob = F.log_softmax(self.actor(observation), dim=-1)
        return log_prob.exp(), log_prob

    def target_value(self, batch):
        with torch.no_grad():
            prob, log_prob = self.policy(batch["next_observation"])
            next_q = torch.stack([net(batch["next_observation"]) for net in self.targets]).amin(dim=0)
            next_v = (prob * (next_q - self.alpha * log_prob)).sum(dim=-1)
            return batch["reward"] + self.gamma * (1 - batch["done"]) * next_v

    def critic_loss(self, batch):
        action_value = torch.stack([net(batch["observation"]) for net in self.critics])
        action = batch["action"].unsqueeze(-1)
        chosen_action_value = torch.gather(action_value, -1, index=action).squeeze(-1)
        target = self.target_value(batch)
        return F.smooth_l1_loss(chosen_action_value, target.expand_as(chosen_action_value))

    def actor_loss(self, batch):
        prob, log_prob = self.policy(batch["observation"])
        with torch.no_grad():
            q = torch.stack([net(batch["observation"]) for net in self.critics]).amin(dim=0)
        return (prob * (self.alpha * log_prob - q)).sum(dim=-1).mean()

    @torch.no_grad()
    def soft_update(self, tau=0.01):
        for target, source in zip(self.targets.parameters(), self.critics.parameters()):
            target.lerp_(source, tau)


def sample_batch(batch_size, obs_dim, n_actions, device):
    return {
        "observation": torch.randn(batch_size, obs_dim, device=device),
        "action": torch.randint(0, n_actions, (batch_size,), device=device),
        "reward": torch.randn(batch_size, device=device),
        "next_observation": torch.randn(batch_size, obs_dim, device=device),
        "done": (torch.rand(batch_size, device=device) < 0.05).float(),
    }


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    obs_dim, n_actions = 8, 5
    loss_module = DiscreteSACLoss(obs_dim, n_actions).to(device)
    critic_optim = torch.optim.Adam(loss_module.critics.parameters(), lr=3e-4)
    actor_optim = torch.optim.Adam(loss_module.actor.parameters(), lr=3e-4)
    for step in range(50):
        batch = sample_batch(256, obs_dim, n_actions, device)
        critic_loss = loss_module.critic_loss(batch)
        critic_optim.zero_grad()
        critic_loss.backward()
        critic_optim.step()

        actor_loss = loss_module.actor_loss(batch)
        actor_optim.zero_grad()
        actor_loss.backward()
        actor_optim.step()
        loss_module.soft_update()
        if step % 10 == 0:
            print(f"step {step}: critic {critic_loss.item():.4f} actor {actor_loss.item():.4f}")


if __name__ == "__main__":
    main()
