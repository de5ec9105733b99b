import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification

TOPICS = ["politics", "sport", "science", "culture", "economy"]
VOCAB_SIZE = 120
PAD, CLS = 0, 1


def make_articles(n, seed):
    rng = np.random.default_rng(seed)
    articles = []
    for _ in range(n):
        topics = rng.choice(len(TOPICS), size=rng.integers(1, 4), replace=False)
        words = list(rng.integers(20, VOCAB_SIZE, size=rng.integers(8, 14)))
        for t in topics:
            words += list(rng.integers(2 + 3 * t, 5 + 3 * t, size=2))
        rng.shuffle(words)
        articles.append({"words": [int(w) for w in words], "topics": [TOPICS[t] for t in topics]})
    return articles


def encode_topics(topics):
    vector = torch.zeros(len(TOPICS), dtype=torch.long)
    for topic in topics:
        vector[TOPICS.index(topic)] = 1
    return vector


class ArticleDataset(Dataset):
    def __init__(self, articles, max_length=24):
        self.articles = articles
        self.max_length = max_length

    def __len__(self):
        return len(self.articles)

    def __getitem__(self, i):
        article = self.articles[i]
        ids = [CLS] + article["words"][:self.max_length - 1]
        gap = self.max_length - len(ids)
        return {
            "input_ids": torch.tensor(ids + [PAD] * gap),
            "attention_mask": torch.tensor([1] * len(ids) + [0] * gap),
            "labels": encode_topics(article["topics"]),
        }


def build_model():
    config = DistilBertConfig(
        vocab_size=VOCAB_SIZE,
        dim=64,
        hidden_dim=128,
        n_layers=2,
        n_heads=4,
        max_position_embeddings=32,
        num_labels=len(TOPICS),
        problem_type="multi_label_classification",
    )
    return DistilBertForSequenceClassification(config)


@torch.no_grad()
def evaluate(model, loader, threshold=0.5):
    model.eval()
    predicted, truth = [], []
    for batch in loader:
        labels = batch.pop("labels")
        predicted.append(model(**batch).logits.sigmoid() > threshold)
        truth.append(labels > 0.5)
    predicted, truth = torch.cat(predicted), torch.cat(truth)
    found = (predicted & truth).sum().item()
    return 2 * found / max(1, predicted.sum().item() + truth.sum().item())


def train(model, train_loader, valid_loader, epochs=4, lr=2e-3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        losses = []
        for batch in train_loader:
            out = model(**batch)
            optimizer.zero_grad()
            out.loss.backward()
            optimizer.step()
            losses.append(out.loss.item())
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, micro F1 {evaluate(model, valid_loader):.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(ArticleDataset(make_articles(320, 0)), batch_size=32, shuffle=True)
    valid_loader = DataLoader(ArticleDataset(make_articles(80, 1)), batch_size=40)
    train(build_model(), train_loader, valid_loader)
