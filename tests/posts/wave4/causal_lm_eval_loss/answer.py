import argparse
import math
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument('--per_device_eval_batch_size', type=int, default=8)
parser.add_argument('--train_steps', type=int, default=20)
args = parser.parse_args()

PAD, IGNORE = 0, -100


def make_corpus(n, seed):
    g = torch.Generator().manual_seed(seed)
    corpus = []
    for _ in range(n):
        length = int(torch.randint(5, 60, (1,), generator=g))
        start = int(torch.randint(1, 40, (1,), generator=g))
        corpus.append((start + torch.arange(length) * 2) % 49 + 1)
    return corpus


def collate(examples):
    input_ids = pad_sequence(examples, batch_first=True, padding_value=PAD)
    labels = pad_sequence(examples, batch_first=True, padding_value=IGNORE)
    return {'input_ids': input_ids, 'labels': labels}


class RecurrentLM(nn.Module):
    def __init__(self, vocab=50, dim=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)
        self.loss_fct = nn.CrossEntropyLoss(ignore_index=IGNORE)

    def forward(self, input_ids, labels=None):
        logits = self.lm_head(self.rnn(self.embed(input_ids))[0])
        loss = None
        if labels is not None:
            shift_logits, shift_labels = logits[:, :-1], labels[:, 1:]
            loss = self.loss_fct(shift_logits.reshape(-1, logits.size(-1)), shift_labels.reshape(-1))
        return loss, logits


def evaluate(model, dataset, batch_size):
    model.eval()
    loader = DataLoader(dataset, batch_size=batch_size, collate_fn=collate)
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in loader:
            loss, _ = model(**batch)
            n = (batch['labels'][:, 1:] != IGNORE).sum().item()
            total += loss.item() * n
            count += n
    eval_loss = total / count
    return {'eval_loss': eval_loss, 'perplexity': math.exp(eval_loss), 'last_batch_tokens': n}


torch.manual_seed(0)
model = RecurrentLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
train_loader = DataLoader(make_corpus(160, 1), batch_size=16, shuffle=True, collate_fn=collate)

step = 0
while step < args.train_steps:
    for batch in train_loader:
        loss, _ = model(**batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1

print(evaluate(model, make_corpus(50, 2), args.per_device_eval_batch_size))
print(evaluate(model, make_corpus(50, 2), 1))
