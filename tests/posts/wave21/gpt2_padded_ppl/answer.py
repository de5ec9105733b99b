import argparse
import math
import random

import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

WORDS = {
    "det": ["the", "a", "every"],
    "noun": ["dog", "cat", "robot", "king", "child"],
    "verb": ["sees", "likes", "finds", "hears"],
    "adj": ["old", "small", "red", "happy"],
}


def make_sentence(rng):
    def phrase():
        out = [rng.choice(WORDS["det"])]
        out += [rng.choice(WORDS["adj"]) for _ in range(rng.choice([0, 0, 1, 2]))]
        return out + [rng.choice(WORDS["noun"])]

    text = phrase() + [rng.choice(WORDS["verb"])] + phrase()
    while rng.random() < 0.35:
        text += ["and", rng.choice(WORDS["verb"])] + phrase()
    return " ".join(text)


class WordTokenizer:
    def __init__(self):
        vocab = ["<eos>", "and"] + [w for words in WORDS.values() for w in words]
        self.ids = {w: i for i, w in enumerate(vocab)}
        self.pad_token_id = self.eos_token_id = 0

    def __len__(self):
        return len(self.ids)

    def __call__(self, texts, max_length):
        input_ids = torch.full((len(texts), max_length), self.pad_token_id)
        attention_mask = torch.zeros(len(texts), max_length, dtype=torch.long)
        for row, text in enumerate(texts):
            ids = ([self.ids[w] for w in text.split()] + [self.eos_token_id])[:max_length]
            input_ids[row, :len(ids)] = torch.tensor(ids)
            attention_mask[row, :len(ids)] = 1
        return {"input_ids": input_ids, "attention_mask": attention_mask}


def train(model, loader, epochs, lr):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for batch in loader:
            labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
            loss = model(**batch, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item()
        print("epoch %d  train loss %.4f" % (epoch, running / len(loader)))


@torch.no_grad()
def evaluate_perplexity(model, loader):
    model.eval()
    total_loss, total_tokens = 0.0, 0
    for batch in loader:
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        outputs = model(**batch, labels=labels)
        n_tokens = (labels[:, 1:] != -100).sum().item()
        total_loss += outputs.loss.item() * n_tokens
        total_tokens += n_tokens
    mean_loss = total_loss / total_tokens
    return {"loss": mean_loss, "perplexity": math.exp(min(mean_loss, 100))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--max_length", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    tokenizer = WordTokenizer()

    def collate(texts):
        return tokenizer(texts, args.max_length)

    train_texts = [make_sentence(rng) for _ in range(800)]
    test_texts = [make_sentence(rng) for _ in range(160)]
    noisy_texts = []
    for text in test_texts:
        words = text.split()
        rng.shuffle(words)
        noisy_texts.append(" ".join(words))

    config = GPT2Config(vocab_size=len(tokenizer), n_positions=args.max_length, n_embd=48, n_layer=2,
                        n_head=4, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)
    train(model, DataLoader(train_texts, args.batch_size, shuffle=True, collate_fn=collate), args.epochs, 3e-3)

    for name, texts in (("clean", test_texts), ("shuffled", noisy_texts)):
        scores = evaluate_perplexity(model, DataLoader(texts, args.batch_size, collate_fn=collate))
        print("%-9s loss %.4f  perplexity %.3f" % (name, scores["loss"], scores["perplexity"]))


if __name__ == "__main__":
    main()
