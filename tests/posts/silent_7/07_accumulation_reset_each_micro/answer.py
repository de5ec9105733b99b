import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification

VOCAB = 60
CLS = 1


def synth_reviews(n, length, seed):
    g = torch.Generator().manual_seed(seed)
    tokens = torch.randint(2, VOCAB, (n, length), generator=g)
    tokens[:, 0] = CLS
    polarity = torch.linspace(-1, 1, VOCAB)[torch.randperm(VOCAB, generator=torch.Generator().manual_seed(9))]
    score = polarity[tokens[:, 1:]].sum(dim=1) + 1.6 * torch.randn(n, generator=g)
    return TensorDataset(tokens, (score > 0).long())


class Trainer:
    def __init__(self, model, args):
        self.model = model
        self.args = args
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for step, (tokens, labels) in enumerate(loader):
            output = self.model(input_ids=tokens, labels=labels)
            loss = output.loss / self.args.accumulate
            loss.backward()
            if (step + 1) % self.args.accumulate == 0:
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.optimizer.zero_grad()
            total += output.loss.item()
        return total / len(loader)

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        hits = seen = 0
        for tokens, labels in loader:
            hits += (self.model(input_ids=tokens).logits.argmax(-1) == labels).sum().item()
            seen += len(labels)
        return hits / seen


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--micro-batch", type=int, default=4)
    p.add_argument("--accumulate", type=int, default=8)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=5e-3)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCAB, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=32, initializer_range=0.1, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, num_labels=2,
    )
    model = BertForSequenceClassification(config)
    train_loader = DataLoader(synth_reviews(1280, 12, 0), batch_size=args.micro_batch, shuffle=True, drop_last=True)
    dev_loader = DataLoader(synth_reviews(500, 12, 1), batch_size=100)

    trainer = Trainer(model, args)
    for epoch in range(args.epochs):
        loss = trainer.train_epoch(train_loader)
        print(f"epoch {epoch + 1}  loss {loss:.4f}  dev acc {trainer.evaluate(dev_loader):.3f}")


if __name__ == "__main__":
    main()
