import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import BertConfig, BertModel

PAD, CLS = 0, 1
VOCAB = 200


class SentenceEncoder(nn.Module):
    def __init__(self, config, out_dim=64):
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.proj = nn.Linear(config.hidden_size, out_dim)

    def forward(self, input_ids, attention_mask):
        h = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        m = attention_mask.unsqueeze(-1).to(h.dtype)
        pooled = (h * m).sum(dim=1) / m.sum(dim=1)
        return F.normalize(self.proj(pooled), dim=-1)


def collate(seqs):
    width = max(len(s) for s in seqs)
    ids = torch.full((len(seqs), width), PAD)
    for i, s in enumerate(seqs):
        ids[i, : len(s)] = torch.tensor(s)
    return ids, (ids != PAD).long()


def sample_pair(rng):
    """Two paraphrases: the same few content words with different filler around them."""
    content = rng.choice(np.arange(100, VOCAB), 3, replace=False)

    def render():
        filler = rng.integers(2, 30, rng.integers(0, 6))
        toks = np.concatenate([content, filler])
        return [CLS] + rng.permutation(toks).tolist()

    return render(), render()


def info_nce(a, b, temperature=0.07):
    logits = a @ b.t() / temperature
    target = torch.arange(len(a))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


@torch.no_grad()
def embed(model, seqs, batch_size):
    model.eval()
    return torch.cat([model(*collate(seqs[i:i + batch_size])) for i in range(0, len(seqs), batch_size)])


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    config = BertConfig(vocab_size=VOCAB, hidden_size=64, num_hidden_layers=1, num_attention_heads=4,
                        intermediate_size=128, max_position_embeddings=64, pad_token_id=PAD)
    model = SentenceEncoder(config)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)

    model.train()
    for step in range(150):
        left, right = zip(*(sample_pair(rng) for _ in range(48)))
        loss = info_nce(model(*collate(left)), model(*collate(right)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")

    left, right = zip(*(sample_pair(rng) for _ in range(200)))
    left, right = list(left), list(right)
    corpus = right + [[CLS] + rng.integers(2, VOCAB, 40).tolist()]
    a = embed(model, left, 64)
    b = embed(model, corpus, 256)
    hits = (a @ b.t()).argmax(1) == torch.arange(200)
    print(f"recall@1 {hits.float().mean():.3f}")


if __name__ == "__main__":
    main()
