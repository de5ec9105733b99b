import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

DIGITS = '0123456789+= '
stoi = {c: i for i, c in enumerate(DIGITS)}


class PromptDataset(Dataset):
    def __init__(self, rows):
        self.datasources = [r['datasource'] for r in rows]
        self.prompts = [r['prompt'] for r in rows]
        self.labels = [r['label'] for r in rows]

    def __len__(self):
        return len(self.prompts)

    def __getitem__(self, idx):
        return self.datasources[idx], self.prompts[idx], self.labels[idx]

    def collate_fn(self, item_list):
        datasources, prompts, labels = [], [], []
        for datasource, prompt, label in item_list:
            datasources.append(datasource)
            prompts.append(prompt)
            labels.append(label)
        return datasources, prompts, labels


class Actor(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(len(DIGITS), 32)
        self.rnn = nn.GRU(32, hidden, batch_first=True)
        self.head = nn.Linear(hidden, len(DIGITS))

    def forward(self, ids, state=None):
        out, state = self.rnn(self.embed(ids), state)
        return self.head(out), state

    def generate(self, ids, max_new_tokens=1):
        logits, state = self(ids)
        tokens, logprobs = [], []
        for _ in range(max_new_tokens):
            dist = torch.distributions.Categorical(logits=logits[:, -1])
            token = dist.sample()
            tokens.append(token)
            logprobs.append(dist.log_prob(token))
            logits, state = self(token.unsqueeze(1), state)
        return torch.stack(tokens, 1), torch.stack(logprobs, 1)


def encode(prompts):
    return torch.tensor([[stoi[c] for c in p] for p in prompts])


def decode(rows):
    return [''.join(DIGITS[i] for i in row) for row in rows.tolist()]


def reward_func(queries, labels):
    rewards = [1.0 if answer in accepted else 0.0 for answer, accepted in zip(queries, labels)]
    return torch.tensor(rewards)


def main():
    torch.manual_seed(7)
    rows = [{'datasource': 'sums', 'prompt': f'{a}+{b}=', 'label': [str(a + b)]}
            for a in range(10) for b in range(10) if a + b < 10]
    dataset = PromptDataset(rows)
    dataloader = DataLoader(dataset, batch_size=11, shuffle=True, drop_last=True, collate_fn=dataset.collate_fn)
    actor = Actor()
    optimizer = torch.optim.AdamW(actor.parameters(), lr=3e-3)

    for episode in range(6):
        mean_reward = 0.0
        for datasources, prompts, labels in dataloader:
            sequences, logprobs = actor.generate(encode(prompts))
            rewards = reward_func(decode(sequences), labels)
            advantages = rewards - 0.1
            loss = -(advantages * logprobs.sum(dim=1)).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
            optimizer.step()
            mean_reward += rewards.mean().item() / len(dataloader)
        print(f'episode {episode} reward {mean_reward:.3f} loss {loss.item():.3f}')


if __name__ == '__main__':
    main()
