# line 29: the classifier is sized by the intermediate size of BERT, but the pooled output has the hidden size; mended by: config.hidden_size for the classifier
import random

import torch
import torch.nn as nn
from transformers import BertConfig, BertModel

WORDS = ["[PAD]", "[CLS]", "[SEP]", "refund", "broken", "late", "thanks", "love", "invoice", "login", "password", "app"]
INTENTS = {"complaint": ["refund", "broken", "late"], "praise": ["thanks", "love"], "account": ["login", "password", "invoice"]}


def make_ticket(rnd, max_len=12):
    name = rnd.choice(list(INTENTS))
    body = [rnd.choice(INTENTS[name] + ["app"]) for _ in range(rnd.randint(3, 9))]
    ids = [1] + [WORDS.index(w) for w in body] + [2]
    mask = [1] * len(ids) + [0] * (max_len - len(ids))
    return ids + [0] * (max_len - len(ids)), mask, list(INTENTS).index(name)


class TicketRouter(nn.Module):
    def __init__(self, n_intents, dropout=0.1):
        super().__init__()
        config = BertConfig(
            vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2,
            num_attention_heads=4, intermediate_size=64, max_position_embeddings=16,
        )
        self.bert = BertModel(config)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(config.hidden_size, n_intents)

    def forward(self, input_ids, attention_mask):
        out = self.bert(input_ids=input_ids, attention_mask=attention_mask)
        return self.classifier(self.dropout(out.pooler_output))


def main():
    rnd = random.Random(3)
    torch.manual_seed(3)
    ids, mask, y = (torch.tensor(col) for col in zip(*[make_ticket(rnd) for _ in range(96)]))
    model = TicketRouter(len(INTENTS))
    no_decay = ("bias", "LayerNorm.weight")
    groups = [
        {"params": [p for n, p in model.named_parameters() if not n.endswith(no_decay)], "weight_decay": 0.01},
        {"params": [p for n, p in model.named_parameters() if n.endswith(no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    for epoch in range(2):
        model.train()
        for b in torch.randperm(len(y)).split(24):
            logits = model(ids[b], mask[b])
            loss = nn.functional.cross_entropy(logits, y[b])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(ids, mask).argmax(-1) == y).float().mean()
        print(f"epoch {epoch} loss {loss:.3f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
