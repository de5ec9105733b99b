import torch
import torch.nn.functional as F
from transformers import BertConfig, BertModel

config = BertConfig(vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=128, max_position_embeddings=64, pad_token_id=0)
encoder = BertModel(config, add_pooling_layer=False)


def pad(batch):
    width = max(len(s) for s in batch)
    ids = torch.zeros(len(batch), width, dtype=torch.long)
    mask = torch.zeros(len(batch), width, dtype=torch.long)
    for i, s in enumerate(batch):
        ids[i, :len(s)] = s
        mask[i, :len(s)] = 1
    return ids, mask


def embed(batch):
    ids, mask = pad(batch)
    out = encoder(input_ids=ids, attention_mask=mask)
    m = mask.unsqueeze(-1).float()
    pooled = (out.last_hidden_state * m).sum(dim=1) / m.sum(dim=1)
    return F.normalize(pooled, dim=-1)


def sentence():
    return torch.randint(1, 300, (int(torch.randint(4, 40, (1,))),))


def shuffled(s):
    return s[torch.randperm(len(s))]


optimizer = torch.optim.AdamW(encoder.parameters(), lr=2e-4)
encoder.train()
for step in range(40):
    sentences = [sentence() for _ in range(16)]
    a, b = embed(sentences), embed([shuffled(s) for s in sentences])
    loss = F.cross_entropy(a @ b.T / 0.05, torch.arange(16))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step + 1, round(loss.item(), 4))

encoder.eval()
with torch.no_grad():
    query = sentence()[:6]
    alone = embed([query])[0]
    in_batch = embed([query, torch.randint(1, 300, (60,))])[0]
print("same sentence, cosine:", torch.dot(alone, in_batch).item())
