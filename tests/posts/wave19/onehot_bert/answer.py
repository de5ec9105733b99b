import argparse

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification

LABELS = ["sport", "politics", "science", "culture"]
WORDS = {
    "sport": "match goal team coach league player final score".split(),
    "politics": "vote party minister law election senate bill reform".split(),
    "science": "cell star theory lab particle study gene orbit".split(),
    "culture": "film novel stage music painting actor poem museum".split(),
}
COMMON = "the a of in on new said after last year first more".split()


class WordTokenizer:
    def __init__(self):
        words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"] + COMMON + sum(WORDS.values(), [])
        self.ids = {w: i for i, w in enumerate(words)}

    def __len__(self):
        return len(self.ids)

    def __call__(self, text, max_length):
        tokens = [self.ids.get(w, 3) for w in text.split()][: max_length - 2]
        ids = [1] + tokens + [2]
        mask = [1] * len(ids) + [0] * (max_length - len(ids))
        return ids + [0] * (max_length - len(ids)), mask


def make_corpus(n, seed):
    rng = np.random.default_rng(seed)
    texts, topics = [], []
    for _ in range(n):
        topic = LABELS[rng.integers(len(LABELS))]
        words = list(rng.choice(WORDS[topic], 4)) + list(rng.choice(COMMON, rng.integers(3, 8)))
        rng.shuffle(words)
        texts.append(" ".join(words))
        topics.append(topic)
    return texts, topics


class NewsDataset(Dataset):
    def __init__(self, texts, topics, tokenizer, max_length=16):
        self.encoded = [tokenizer(t, max_length) for t in texts]
        self.labels = [LABELS.index(topic) for topic in topics]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        ids, mask = self.encoded[i]
        return {
            "input_ids": torch.tensor(ids),
            "attention_mask": torch.tensor(mask),
            "labels": torch.tensor(self.labels[i]),
        }


def accuracy(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for batch in loader:
            labels = batch.pop("labels")
            pred = model(**batch).logits.argmax(-1)
            hits += (pred == labels).sum().item()
            total += len(labels)
    return hits / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.manual_seed(0)

    tokenizer = WordTokenizer()
    train_loader = DataLoader(NewsDataset(*make_corpus(320, 0), tokenizer), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(NewsDataset(*make_corpus(96, 1), tokenizer), batch_size=32)
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=96, max_position_embeddings=32, num_labels=len(LABELS))
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        for step, batch in enumerate(train_loader):
            outputs = model(**batch)
            loss = outputs.loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
        print(f"epoch {epoch} accuracy {accuracy(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
