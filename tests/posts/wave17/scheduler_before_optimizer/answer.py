import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset

TOPICS = {
    'music': ['guitar', 'song', 'band', 'concert', 'piano', 'drums'],
    'food': ['pizza', 'soup', 'bread', 'cook', 'spicy', 'dinner'],
    'sport': ['football', 'run', 'team', 'goal', 'swim', 'coach'],
    'travel': ['train', 'beach', 'hotel', 'map', 'flight', 'museum'],
}
FILLER = ['i', 'really', 'like', 'the', 'my', 'we', 'do', 'you', 'today', 'often']
VOCAB = {w: i + 1 for i, w in enumerate(FILLER + [w for ws in TOPICS.values() for w in ws])}


def utterance(rng, topic, length=8):
    words = [rng.choice(FILLER) for _ in range(length)]
    for pos in rng.sample(range(length), 2):
        words[pos] = rng.choice(TOPICS[topic])
    return torch.tensor([VOCAB[w] for w in words])


class DialogPairs(Dataset):
    def __init__(self, n, seed=0):
        rng = random.Random(seed)
        self.pairs = []
        for _ in range(n):
            topic = rng.choice(list(TOPICS))
            self.pairs.append((utterance(rng, topic), utterance(rng, topic), list(TOPICS).index(topic)))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]


class TransformerRanker(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(len(VOCAB) + 1, dim, padding_idx=0)
        layer = nn.TransformerEncoderLayer(dim, 4, 128, dropout=0.1, batch_first=True)
        self.context, self.candidate = nn.TransformerEncoder(layer, 1), nn.TransformerEncoder(layer, 1)

    def forward(self, context, candidates):
        c = self.context(self.emb(context)).mean(1)
        d = self.candidate(self.emb(candidates)).mean(1)
        return c @ d.t() / c.shape[1] ** 0.5


class TorchRankerAgent:
    def __init__(self, opt):
        self.opt = opt
        self.model = TransformerRanker()
        self.optimizer = torch.optim.Adamax(self.model.parameters(), lr=opt.learningrate)
        self.scheduler = self.build_lr_scheduler()
        self._number_training_updates = 0

    def build_lr_scheduler(self):
        warmup = self.opt.warmup_updates
        decay = warmup ** 0.5

        def factor(step):
            if step < warmup:
                return max(1e-4, step / warmup)
            return decay / max(1, step) ** 0.5

        return LambdaLR(self.optimizer, factor)

    def update_params(self):
        self._number_training_updates += 1
        if self.opt.gradient_clip > 0:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.opt.gradient_clip)
        self.optimizer.step()
        self.scheduler.step()

    def train_step(self, batch):
        context, label, topic = batch
        self.model.train()
        self.optimizer.zero_grad()
        scores = self.model(context, label)
        same = topic[:, None] == topic[None, :]
        target = same.float() / same.sum(1, keepdim=True)
        loss = -(target * F.log_softmax(scores, dim=1)).sum(1).mean()
        loss.backward()
        self.update_params()
        hits = same.gather(1, scores.argmax(1, keepdim=True)).float().mean()
        return loss.item(), hits.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=4)
    parser.add_argument('--batchsize', type=int, default=20)
    parser.add_argument('--learningrate', type=float, default=5e-3)
    parser.add_argument('--warmup-updates', type=int, default=50)
    parser.add_argument('--gradient-clip', type=float, default=0.1)
    opt = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    agent = TorchRankerAgent(opt)
    loader = DataLoader(DialogPairs(1600), batch_size=opt.batchsize, shuffle=True)
    for epoch in range(opt.epochs):
        stats = torch.tensor([agent.train_step(batch) for batch in loader]).mean(0)
        lr = agent.optimizer.param_groups[0]['lr']
        print(f'epoch {epoch}: loss {stats[0]:.4f} same topic {stats[1]:.3f} lr {lr:.2e} updates {agent._number_training_updates}')


if __name__ == '__main__':
    main()
