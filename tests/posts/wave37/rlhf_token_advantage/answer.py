from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, PROMPT_LEN, NUM_ACTIONS = 24, 6, 10
torch.manual_seed(42)


class TinyLM(nn.Module):
    def __init__(self, out_dim, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, out_dim)

    def forward(self, sequences):
        return self.head(self.rnn(self.embed(sequences))[0])


@dataclass
class Experience:
    sequences: torch.Tensor
    action_log_probs: torch.Tensor
    values: torch.Tensor
    returns: torch.Tensor
    advantages: torch.Tensor


def action_log_probs(model, sequences):
    log_probs = F.log_softmax(model(sequences[:, :-1]), dim=-1)
    picked = log_probs.gather(-1, sequences[:, 1:].unsqueeze(-1)).squeeze(-1)
    return picked[:, -NUM_ACTIONS:]


def action_values(critic, sequences):
    return critic(sequences[:, :-1]).squeeze(-1)[:, -NUM_ACTIONS:]


@torch.no_grad()
def generate(actor, prompts):
    sequences = prompts
    for _ in range(NUM_ACTIONS):
        logits = actor(sequences)[:, -1]
        token = torch.multinomial(logits.softmax(-1), 1)
        sequences = torch.cat([sequences, token], dim=1)
    return sequences


def reward_fn(sequences):
    # the preference model likes answers with many even tokens
    answer = sequences[:, -NUM_ACTIONS:]
    return (answer % 2 == 0).float().mean(dim=1) * 2 - 1


def discounted_returns(rewards, gamma):
    returns = torch.zeros_like(rewards)
    running = torch.zeros(rewards.size(0))
    for t in reversed(range(rewards.size(1))):
        running = rewards[:, t] + gamma * running
        returns[:, t] = running
    return returns


class NaiveExperienceMaker:
    def __init__(self, actor, critic, initial_model, kl_coef=0.05, gamma=1.0):
        self.actor, self.critic, self.initial_model = actor, critic, initial_model
        self.kl_coef, self.gamma = kl_coef, gamma

    @torch.no_grad()
    def make_experience(self, prompts):
        sequences = generate(self.actor, prompts)
        log_probs = action_log_probs(self.actor, sequences)
        base_log_probs = action_log_probs(self.initial_model, sequences)
        values = action_values(self.critic, sequences)
        score = reward_fn(sequences)

        rewards = -self.kl_coef * (log_probs - base_log_probs)
        rewards[:, -1] += score
        returns = discounted_returns(rewards, self.gamma)
        advantages = returns - values
        return Experience(sequences, log_probs, values, returns, advantages), score.mean().item()


def policy_loss(log_probs, old_log_probs, advantages, clip=0.2):
    ratio = (log_probs - old_log_probs).exp()
    return -torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()


def value_loss(values, old_values, returns, clip=0.4):
    clipped = old_values + (values - old_values).clamp(-clip, clip)
    return 0.5 * torch.max((values - returns) ** 2, (clipped - returns) ** 2).mean()


def main():
    actor, critic = TinyLM(VOCAB), TinyLM(1)
    initial_model = TinyLM(VOCAB)
    initial_model.load_state_dict(actor.state_dict())
    maker = NaiveExperienceMaker(actor, critic, initial_model)
    actor_optim = torch.optim.Adam(actor.parameters(), lr=3e-3)
    critic_optim = torch.optim.Adam(critic.parameters(), lr=3e-3)

    for episode in range(60):
        prompts = torch.randint(0, VOCAB, (32, PROMPT_LEN))
        exp, mean_score = maker.make_experience(prompts)
        for _ in range(2):
            loss = policy_loss(action_log_probs(actor, exp.sequences), exp.action_log_probs, exp.advantages)
            actor_optim.zero_grad()
            loss.backward()
            actor_optim.step()

            v_loss = value_loss(action_values(critic, exp.sequences), exp.values, exp.returns)
            critic_optim.zero_grad()
            v_loss.backward()
            critic_optim.step()
        if episode % 10 == 9:
            print(f"episode {episode + 1:3d} score {mean_score:.3f} "
                  f"policy {loss.item():.4f} value {v_loss.item():.4f} adv {exp.advantages.mean().item():+.3f}")


if __name__ == "__main__":
    main()
