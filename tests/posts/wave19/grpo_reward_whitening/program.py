import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

VOCAB = 60
PAD = 0


class PromptDataset(Dataset):
    """prompts of random length, padded on the left"""

    def __init__(self, n=64, max_len=10):
        g = torch.Generator().manual_seed(3)
        self.prompts = torch.zeros(n, max_len, dtype=torch.long)
        for i in range(n):
            k = int(torch.randint(4, max_len + 1, (1,), generator=g))
            self.prompts[i, -k:] = torch.randint(2, VOCAB, (k,), generator=g)

    def __len__(self):
        return len(self.prompts)

    def __getitem__(self, i):
        return self.prompts[i]


class TinyPolicy(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.head(h)

    @torch.no_grad()
    def generate(self, prompt, max_new=24, eos=1):
        ids = prompt
        done = torch.zeros(len(prompt), dtype=torch.bool)
        for _ in range(max_new):
            logits = self(ids)[:, -1]
            nxt = torch.distributions.Categorical(logits=logits).sample()
            nxt = torch.where(done, torch.full_like(nxt, PAD), nxt)
            done |= nxt == eos
            ids = torch.cat([ids, nxt.unsqueeze(1)], dim=1)
        return ids


def masked_mean(tensor, mask, dim=None):
    if dim is None:
        return (tensor * mask).sum() / mask.sum()
    return (tensor * mask).sum(dim=dim) / mask.sum(dim=dim).clamp(min=1)


def masked_normalize(tensor, mask, dim=1, eps=1e-8):
    tensor = tensor * mask
    mean = masked_mean(tensor, mask, dim=dim)
    mean_centered = tensor - mean
    var = masked_mean(mean_centered ** 2, mask, dim=dim)
    return mean_centered * var.clamp(min=eps).rsqrt()


def token_rewards(responses, mask):
    # even tokens are good, long answers are slightly bad
    r = (responses % 2 == 0).float() - 0.02 * torch.arange(responses.size(1))
    return r * mask


def discounted_returns(rewards, gamma=0.95):
    out = torch.zeros_like(rewards)
    running = torch.zeros(rewards.size(0))
    for t in reversed(range(rewards.size(1))):
        running = rewards[:, t] + gamma * running
        out[:, t] = running
    return out


def policy_step(policy, optimizer, prompts):
    seqs = policy.generate(prompts)
    plen = prompts.size(1)
    responses = seqs[:, plen:]
    mask = (responses != PAD).float()
    returns = discounted_returns(token_rewards(responses, mask))
    advantages = masked_normalize(returns, mask)

    logits = policy(seqs[:, :-1])[:, plen - 1:]
    logp = F.log_softmax(logits, dim=-1).gather(-1, responses.unsqueeze(-1)).squeeze(-1)
    loss = -masked_mean(advantages * logp, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), masked_mean(token_rewards(responses, mask), mask).item()


if __name__ == "__main__":
    torch.manual_seed(0)
    policy = TinyPolicy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    loader = DataLoader(PromptDataset(), batch_size=16, shuffle=True)
    for epoch in range(5):
        for prompts in loader:
            loss, reward = policy_step(policy, optimizer, prompts)
        print(f"epoch {epoch}: loss {loss:.4f} reward {reward:.3f}")
