from argparse import ArgumentParser

import numpy as np
import torch
from torch.optim import AdamW
from torch.utils.data import DataLoader, TensorDataset
from transformers import RobertaConfig, RobertaForSequenceClassification

PAD, BOS, EOS = 1, 0, 2
LABELS = ["contradiction", "neutral", "entailment"]


def build_pairs(n, vocab_size, max_len, seed):
    """premise </s> hypothesis: same topic / other topic / negated topic"""
    rng = np.random.default_rng(seed)
    topics = np.arange(10, 18)
    negation = 5
    ids = np.full((n, max_len), PAD)
    labels = rng.integers(0, 3, size=n)
    for i in range(n):
        topic = rng.choice(topics)
        premise = list(rng.integers(20, vocab_size, size=rng.integers(2, 5))) + [topic]
        hypothesis = list(rng.integers(20, vocab_size, size=rng.integers(1, 3)))
        if labels[i] == 0:
            hypothesis += [negation, topic]
        elif labels[i] == 1:
            hypothesis += [rng.choice(topics[topics != topic])]
        else:
            hypothesis += [topic]
        row = [BOS] + premise + [EOS] + hypothesis + [EOS]
        ids[i, : len(row)] = row
    ids = torch.from_numpy(ids)
    return TensorDataset(ids, ids.ne(PAD).long(), torch.from_numpy(labels))


def evaluate(model, loader, device):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for batch in loader:
            input_ids, attention_mask, labels = [t.to(device) for t in batch]
            logits = model(input_ids=input_ids, attention_mask=attention_mask).logits
            right += (logits.argmax(dim=-1) == labels).sum().item()
            total += labels.size(0)
    return right / total


def train():
    parser = ArgumentParser()
    parser.add_argument("--train_batch_size", type=int, default=16)
    parser.add_argument("--valid_batch_size", type=int, default=64)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--n_epochs", type=int, default=2)
    parser.add_argument("--max_norm", type=float, default=1.0)
    parser.add_argument("--vocab_size", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = RobertaConfig(
        vocab_size=args.vocab_size, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=128, max_position_embeddings=24, num_labels=len(LABELS), type_vocab_size=1,
    )
    model = RobertaForSequenceClassification(config).to(device)
    optimizer = AdamW(model.parameters(), lr=args.lr)

    train_set = build_pairs(2400, args.vocab_size, 14, args.seed)
    valid_set = build_pairs(300, args.vocab_size, 14, args.seed + 1)
    train_loader = DataLoader(train_set, batch_size=args.train_batch_size, shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=args.valid_batch_size)
    print("Train batches: %d, valid batches: %d" % (len(train_loader), len(valid_loader)))

    best = 0.0
    for epoch in range(args.n_epochs):
        model.train()
        losses, accs = [], []
        for step, batch in enumerate(train_loader):
            input_ids, attention_mask, labels = [t.to(device) for t in batch]
            output = model(input_ids=input_ids, attention_mask=attention_mask, labels=labels)
            loss = output.loss / args.gradient_accumulation_steps
            loss.backward()
            losses.append(output.loss.item())
            accs.append((output.logits.argmax(dim=-1) == labels).float().mean().item())
            if (step + 1) % args.gradient_accumulation_steps == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
                optimizer.step()
                optimizer.zero_grad()
            if step >= 32:
                break
        acc = evaluate(model, valid_loader, device)
        best = max(best, acc)
        print("Epoch %d train loss %.4f acc %.4f valid acc %.4f" % (epoch + 1, np.mean(losses), np.mean(accs), acc))
    print("best valid acc %.4f" % best)


if __name__ == "__main__":
    train()
