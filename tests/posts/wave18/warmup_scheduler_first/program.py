import argparse

import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification


def warmup_linear_schedule(optimizer, warmup_steps, t_total):
    def lr_lambda(step):
        if step < warmup_steps:
            return float(step + 1) / float(max(1, warmup_steps))
        return max(0.0, float(t_total - step) / float(max(1.0, t_total - warmup_steps)))

    return LambdaLR(optimizer, lr_lambda)


def build_model(vocab_size):
    config = BertConfig(vocab_size=vocab_size, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=64, max_position_embeddings=32, num_labels=2)
    return BertForSequenceClassification(config)


def make_dataset(n, vocab_size, length=12, seed=0):
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, vocab_size, (n, length), generator=g)
    labels = (ids[:, 1] > vocab_size // 2).long()
    ids[:, 0] = 1
    return TensorDataset(ids, torch.ones_like(ids), labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--learning_rate', type=float, default=3e-3)
    parser.add_argument('--num_train_epochs', type=int, default=12)
    parser.add_argument('--warmup_steps', type=int, default=10)
    parser.add_argument('--max_grad_norm', type=float, default=1.0)
    args = parser.parse_args()
    torch.manual_seed(0)

    vocab_size = 100
    train_loader = DataLoader(make_dataset(480, vocab_size), batch_size=32, shuffle=True)
    eval_loader = DataLoader(make_dataset(160, vocab_size, seed=1), batch_size=32)
    model = build_model(vocab_size)
    t_total = len(train_loader) * args.num_train_epochs

    no_decay = ['bias', 'LayerNorm.weight']
    groups = [
        {'params': [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], 'weight_decay': 0.01},
        {'params': [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], 'weight_decay': 0.0},
    ]
    optimizer = AdamW(groups, lr=args.learning_rate)
    scheduler = warmup_linear_schedule(optimizer, args.warmup_steps, t_total)

    for epoch in range(args.num_train_epochs):
        model.train()
        tr_loss = 0.0
        for input_ids, attention_mask, labels in train_loader:
            loss = model(input_ids=input_ids, attention_mask=attention_mask, labels=labels).loss
            loss.backward()
            clip_grad_norm_(model.parameters(), args.max_grad_norm)
            scheduler.step()
            optimizer.step()
            optimizer.zero_grad()
            tr_loss += loss.item()
        model.eval()
        correct = 0
        with torch.no_grad():
            for input_ids, attention_mask, labels in eval_loader:
                logits = model(input_ids=input_ids, attention_mask=attention_mask).logits
                correct += (logits.argmax(-1) == labels).sum().item()
        print(f'epoch {epoch} loss {tr_loss / len(train_loader):.4f} '
              f'acc {correct / len(eval_loader.dataset):.3f} lr {scheduler.get_last_lr()[0]:.2e}')


if __name__ == '__main__':
    main()
