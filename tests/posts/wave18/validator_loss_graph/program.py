import argparse
import math
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, IterableDataset
from transformers import GPT2Config, GPT2LMHeadModel


class PageLoader(IterableDataset):
    def __init__(self, vocab_size, sequence_length, num_pages, seed):
        self.vocab_size = vocab_size
        self.sequence_length = sequence_length
        rng = np.random.default_rng(seed)
        self.pages = [rng.integers(0, vocab_size, 2) for _ in range(num_pages)]

    def __iter__(self):
        for start, step in self.pages:
            tokens = (start + (1 + step % 5) * np.arange(self.sequence_length * 4)) % self.vocab_size
            for i in range(0, len(tokens), self.sequence_length):
                yield torch.from_numpy(tokens[i:i + self.sequence_length].copy())


def get_model(vocab_size, n_embd, n_layer=2):
    config = GPT2Config(vocab_size=vocab_size, n_positions=64, n_embd=n_embd, n_layer=n_layer, n_head=2)
    return GPT2LMHeadModel(config)


def compute_losses(model, batches, device):
    model.to(device)
    model.eval()
    losses = []
    for batch in batches:
        try:
            inputs = batch.to(device)
            logits = model(inputs).logits
            shift_logits = logits[..., :-1, :].contiguous()
            shift_labels = inputs[..., 1:].contiguous()
            loss = F.cross_entropy(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))
            losses.append(loss.item())
        except RuntimeError as e:
            print(f'exception in loss computation: {e}')
            losses.append(math.inf)
    return losses


def compute_wins(losses_per_uid):
    uids = list(losses_per_uid)
    wins = {uid: 0 for uid in uids}
    count = len(next(iter(losses_per_uid.values())))
    for i, uid_i in enumerate(uids):
        for j, uid_j in enumerate(uids):
            if i == j:
                continue
            for b in range(count):
                wins[uid_i] += losses_per_uid[uid_i][b] < losses_per_uid[uid_j][b]
    rate = {uid: wins[uid] / (count * (len(uids) - 1)) for uid in uids}
    return wins, rate


def pretrain(model, loader, steps, lr):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    done = 0
    while done < steps:
        for batch in loader:
            loss = model(batch, labels=batch).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            if done == steps:
                break


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')
    parser.add_argument('--pages_per_eval', type=int, default=12)
    parser.add_argument('--sequence_length', type=int, default=32)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    vocab_size = 64

    train_loader = DataLoader(PageLoader(vocab_size, args.sequence_length, 40, seed=1), batch_size=8)
    miners = {}
    for uid, (n_embd, steps) in enumerate([(32, 20), (32, 60), (64, 60)]):
        miners[uid] = get_model(vocab_size, n_embd)
        pretrain(miners[uid], train_loader, steps, lr=3e-3)

    eval_loader = DataLoader(PageLoader(vocab_size, args.sequence_length, args.pages_per_eval, seed=2), batch_size=8)
    batches = list(eval_loader)
    losses_per_uid = {uid: compute_losses(model, batches, args.device) for uid, model in miners.items()}
    wins, rate = compute_wins(losses_per_uid)
    for uid in miners:
        print(f'uid {uid} loss {np.mean(losses_per_uid[uid]):.4f} wins {wins[uid]} win rate {rate[uid]:.2f}')
