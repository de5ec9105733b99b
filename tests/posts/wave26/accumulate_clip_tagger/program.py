import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class QuestionEncoder(nn.Module):
    def __init__(self, vocab_size=200, dim=32, heads=4, num_labels=5, max_len=16):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, dim)
        self.positions = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 2, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.classifier = nn.Linear(dim, num_labels)

    def forward(self, input_ids):
        positions = torch.arange(input_ids.size(1), device=input_ids.device)
        x = self.tokens(input_ids) + self.positions(positions)
        return self.classifier(self.encoder(x).mean(dim=1))


def build_dataset(count, num_labels=5, max_len=16):
    labels = torch.randint(0, num_labels, (count,))
    input_ids = torch.randint(0, 200, (count, max_len))
    marked = torch.rand(count, max_len) < 0.3
    topic = labels.unsqueeze(1) * 40 + torch.randint(0, 40, (count, max_len))
    return TensorDataset(torch.where(marked, topic, input_ids), labels)


def train(args, dataset, model):
    loader = DataLoader(dataset, batch_size=args.train_batch_size, shuffle=True, drop_last=True)
    t_total = len(loader) // args.gradient_accumulation_steps * args.num_train_epochs
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.0, 1 - s / t_total))
    criterion = nn.CrossEntropyLoss()

    global_step, tr_loss = 0, 0.0
    model.zero_grad()
    for epoch in range(args.num_train_epochs):
        for step, (input_ids, labels) in enumerate(loader):
            model.train()
            loss = criterion(model(input_ids), labels)
            if args.gradient_accumulation_steps > 1:
                loss = loss / args.gradient_accumulation_steps
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)

            tr_loss += loss.item()
            if (step + 1) % args.gradient_accumulation_steps == 0:
                optimizer.step()
                scheduler.step()
                model.zero_grad()
                global_step += 1
        print(f"epoch {epoch + 1}: global step {global_step}, average loss {tr_loss / global_step:.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train_batch_size", type=int, default=8)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
    parser.add_argument("--learning_rate", type=float, default=3e-3)
    parser.add_argument("--max_grad_norm", type=float, default=0.2)
    parser.add_argument("--num_train_epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train(args, build_dataset(512), QuestionEncoder())


if __name__ == "__main__":
    main()
