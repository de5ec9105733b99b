import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertModel

VOCAB, TOPICS, LENGTH = 300, 12, 10


class CosineSimilarity:
    def __call__(self, emb):
        emb = F.normalize(emb, dim=-1)
        return emb @ emb.t()


class ContrastiveLoss(nn.Module):
    """Pulls pairs of the same label together and pushes the others apart."""

    def __init__(self, pos_margin=0.0, neg_margin=1.0, distance=None):
        super().__init__()
        self.pos_margin = pos_margin
        self.neg_margin = neg_margin
        self.distance = distance

    def forward(self, emb, labels):
        mat = self.distance(emb)
        same = labels[:, None] == labels[None, :]
        eye = torch.eye(len(labels), dtype=torch.bool)
        pos_loss = F.relu(self.pos_margin - mat[same & ~eye])
        neg_loss = F.relu(mat[~same] - self.neg_margin)
        return pos_loss.mean() + neg_loss.mean()


class TopicSentences(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.rows = []
        for i in range(n):
            topic = i % TOPICS
            own = range(20 + 20 * topic, 40 + 20 * topic)
            ids = [1] + [rnd.choice(own) if rnd.random() < 0.3 else rnd.randrange(20, VOCAB) for _ in range(LENGTH - 1)]
            self.rows.append((torch.tensor(ids), topic))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class SentenceEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        config = BertConfig(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                            intermediate_size=96, max_position_embeddings=LENGTH)
        self.bert = BertModel(config, add_pooling_layer=False)

    def forward(self, ids):
        return self.bert(input_ids=ids).last_hidden_state.mean(dim=1)


@torch.no_grad()
def recall_at_1(model, data):
    model.eval()
    ids = torch.stack([r[0] for r in data.rows])
    labels = torch.tensor([r[1] for r in data.rows])
    sim = CosineSimilarity()(model(ids))
    sim.fill_diagonal_(-2)
    return (labels[sim.argmax(dim=1)] == labels).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    train_data, test_data = TopicSentences(720, 0), TopicSentences(240, 1)
    loader = DataLoader(train_data, batch_size=48, shuffle=True)
    model = SentenceEncoder()
    loss_func = ContrastiveLoss(pos_margin=1.0, neg_margin=0.0, distance=CosineSimilarity())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    print("recall@1 before", round(recall_at_1(model, test_data), 3))
    for epoch in range(6):
        model.train()
        total = 0.0
        for ids, labels in loader:
            optimizer.zero_grad()
            loss = loss_func(model(ids), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.5f}")
    print("recall@1 after", round(recall_at_1(model, test_data), 3))
