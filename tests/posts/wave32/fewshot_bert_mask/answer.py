import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import BertConfig, BertModel

WORDS = [f"w{i}" for i in range(200)]
VOCAB = {w: i for i, w in enumerate(["[PAD]", "[CLS]", "[SEP]"] + WORDS)}


class BertSentenceEncoder(nn.Module):
    def __init__(self, max_length):
        nn.Module.__init__(self)
        config = BertConfig(vocab_size=len(VOCAB), hidden_size=48, num_hidden_layers=2,
                            num_attention_heads=4, intermediate_size=96, max_position_embeddings=max_length)
        self.bert = BertModel(config)
        self.max_length = max_length

    def forward(self, inputs):
        return self.bert(inputs["word"], attention_mask=inputs["mask"]).pooler_output

    def tokenize(self, raw_tokens):
        tokens = ["[CLS]"] + raw_tokens + ["[SEP]"]
        indexed_tokens = [VOCAB[t] for t in tokens]

        # mask
        mask = np.zeros(self.max_length, dtype=np.int64)
        mask[:len(indexed_tokens)] = 1

        # padding
        while len(indexed_tokens) < self.max_length:
            indexed_tokens.append(0)
        indexed_tokens = indexed_tokens[:self.max_length]

        return np.array(indexed_tokens), mask


class Proto(nn.Module):
    def __init__(self, sentence_encoder):
        nn.Module.__init__(self)
        self.sentence_encoder = sentence_encoder
        self.drop = nn.Dropout(0.1)

    def forward(self, support, query, N, K, Q):
        s = self.drop(self.sentence_encoder(support)).view(N, K, -1).mean(1)
        q = self.drop(self.sentence_encoder(query))
        return -torch.cdist(q, s).pow(2)


def sentence(relation):
    words = random.choices(WORDS[40:], k=random.randint(4, 18))
    words[random.randrange(len(words))] = WORDS[relation]
    return words


def episode(encoder, relations, N, K, Q):
    def pack(n):
        rows = [encoder.tokenize(sentence(r)) for r in classes for _ in range(n)]
        word, mask = zip(*rows)
        return {"word": torch.tensor(np.stack(word)), "mask": torch.tensor(np.stack(mask))}
    classes = random.sample(relations, N)
    return pack(K), pack(Q), torch.arange(N).repeat_interleave(Q)


def main(N=5, K=5, Q=4, iters=40):
    random.seed(0)
    torch.manual_seed(0)
    encoder = BertSentenceEncoder(max_length=32)
    model = Proto(encoder)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    right = 0.0
    for it in range(iters):
        support, query, label = episode(encoder, list(range(30)), N, K, Q)
        logits = model(support, query, N, K, Q)
        loss = F.cross_entropy(logits, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (logits.argmax(1) == label).float().mean().item()
        if (it + 1) % 10 == 0:
            print("step: {} | loss: {:.4f}, accuracy: {:.2f}%".format(it + 1, loss.item(), 10 * right))
            right = 0.0


if __name__ == "__main__":
    main()
