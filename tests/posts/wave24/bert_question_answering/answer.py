import argparse
import random

import torch
from torch.optim import AdamW
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForQuestionAnswering

device = "cuda" if torch.cuda.is_available() else "cpu"


class QADataset(Dataset):
    """Question token, separator, paragraph; the answer is the run after the question token."""

    def __init__(self, n, length, seed):
        rng = random.Random(seed)
        self.samples = []
        for _ in range(n):
            key = rng.randint(10, 19)
            paragraph = [rng.randint(20, 99) for _ in range(length - 4)]
            start = rng.randint(0, len(paragraph) - 4)
            paragraph[start] = key
            ids = [1, key, 2] + paragraph + [2]
            self.samples.append((ids, start + 4, start + 5))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        ids, start, end = self.samples[idx]
        types = [0] * 3 + [1] * (len(ids) - 3)
        return torch.tensor(ids), torch.tensor(types), torch.tensor(start), torch.tensor(end)


def build_model(length):
    config = BertConfig(
        vocab_size=100,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=length,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertForQuestionAnswering(config)


def evaluate(model, loader):
    model.eval()
    exact, total = 0, 0
    with torch.no_grad():
        for batch in loader:
            ids, types, start, end = [b.to(device) for b in batch]
            output = model(input_ids=ids, token_type_ids=types)
            hit = (output.start_logits.argmax(1) == start) & (output.end_logits.argmax(1) == end)
            exact += hit.sum().item()
            total += ids.size(0)
    return exact / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--length", type=int, default=24)
    parser.add_argument("--batch_size", type=int, default=16)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(QADataset(1600, args.length, 1), batch_size=args.batch_size, shuffle=True)
    dev_loader = DataLoader(QADataset(200, args.length, 2), batch_size=64)
    model = build_model(args.length).to(device)
    optimizer = AdamW(model.parameters(), lr=2e-3)

    for epoch in range(args.epochs):
        model.train()
        train_loss = train_acc = 0
        for batch in train_loader:
            ids, types, start, end = [b.to(device) for b in batch]
            output = model(input_ids=ids, token_type_ids=types, start_positions=start, end_positions=end)
            hit = (output.start_logits.argmax(1) == start) & (output.end_logits.argmax(1) == end)
            train_acc += hit.float().mean().item()
            train_loss += output.loss.item()
            output.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        steps = len(train_loader)
        print(f"epoch {epoch + 1} | loss {train_loss / steps:.3f} | acc {train_acc / steps:.3f} | dev {evaluate(model, dev_loader):.3f}")


if __name__ == "__main__":
    main()
