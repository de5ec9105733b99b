import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_size = embed_dim // num_heads
        assert self.head_size * num_heads == embed_dim

        self.values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.fc_out = nn.Linear(self.num_heads * self.head_size, embed_dim)

    def forward(self, values, keys, query, mask):
        N = query.shape[0]
        value_len, key_len, query_len = values.shape[1], keys.shape[1], query.shape[1]

        values = self.values(values).reshape(N, value_len, self.num_heads, self.head_size)
        keys = self.keys(keys).reshape(N, key_len, self.num_heads, self.head_size)
        queries = self.queries(query).reshape(N, query_len, self.num_heads, self.head_size)

        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        if mask is not None:
            energy = energy.masked_fill(mask.unsqueeze(1).unsqueeze(1) == 0, float("-1e20"))
        attention = torch.softmax(energy / (self.head_size ** 0.5), dim=3)
        out = torch.einsum("nhql,nlhd->nqhd", [attention, values]).reshape(N, query_len, self.num_heads * self.head_size)
        return self.fc_out(out), attention


class MemoryBlock(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.attention = MultiHeadAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.fc = nn.Sequential(nn.Linear(embed_dim, embed_dim), nn.ReLU())

    def forward(self, h, memory, mask):
        attn, _ = self.attention(memory, memory, h.unsqueeze(1), mask)
        h = self.norm1(h + attn.squeeze(1))
        return self.norm2(h + self.fc(h))


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_actions, embed_dim=64, num_heads=4):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(obs_dim, embed_dim), nn.ReLU())
        self.block = MemoryBlock(embed_dim, num_heads)
        self.policy = nn.Linear(embed_dim, n_actions)
        self.value = nn.Linear(embed_dim, 1)

    def forward(self, obs, memory, mask):
        item = self.embed(obs)
        h = self.block(item, memory, mask)
        return Categorical(logits=self.policy(h)), self.value(h).squeeze(-1), item.detach()


def rollout(model, n_envs, length, embed_dim, rng):
    """The cue is shown at the first step only; the reward comes when the last action repeats it."""
    cue = rng.integers(0, 2, n_envs)
    memory = torch.zeros(n_envs, length, embed_dim)
    mask = torch.zeros(n_envs, length)
    buf = []
    for t in range(length):
        obs = np.zeros((n_envs, 4), dtype=np.float32)
        if t == 0:
            obs[np.arange(n_envs), cue] = 1
        obs[:, 2], obs[:, 3] = t / length, float(t == length - 1)
        obs = torch.from_numpy(obs)
        mask[:, max(t - 1, 0)] = 1
        with torch.no_grad():
            dist, value, item = model(obs, memory, mask)
        action = dist.sample()
        buf.append((obs, memory.clone(), mask.clone(), action, dist.log_prob(action), value))
        memory[:, t] = item
    reward = (action.numpy() == cue).astype(np.float32) * 2 - 1
    return buf, torch.from_numpy(reward)


def train(updates=30, n_envs=32, length=5):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = ActorCritic(4, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for update in range(updates):
        buf, reward = rollout(model, n_envs, length, 64, rng)
        obs, memory, mask, action, old_logp, old_value = (torch.cat(x) for x in zip(*buf))
        returns = reward.repeat(length)
        adv = returns - old_value
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(3):
            dist, value, _ = model(obs, memory, mask)
            ratio = torch.exp(dist.log_prob(action) - old_logp)
            policy_loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            loss = policy_loss + 0.5 * (returns - value).pow(2).mean() - 0.01 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        if update % 10 == 9:
            print(f"update {update + 1} reward {reward.mean():.2f} loss {loss.item():.3f}")


if __name__ == "__main__":
    train()
