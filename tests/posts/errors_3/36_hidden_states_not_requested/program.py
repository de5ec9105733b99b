import torch
import torch.nn as nn
from transformers import BertConfig, BertModel

torch.manual_seed(0)


class SentencePairScorer(nn.Module):
    """Mean of the last four layers as the sentence embedding."""

    def __init__(self, config):
        super().__init__()
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.score = nn.Linear(2 * config.hidden_size, 1)

    def embed(self, ids):
        mask = (ids != 0).long()
        out = self.encoder(input_ids=ids, attention_mask=mask)
        last4 = torch.stack(out.hidden_states[-4:]).mean(dim=0)
        m = mask.unsqueeze(-1).float()
        return (last4 * m).sum(1) / m.sum(1)

    def forward(self, a, b):
        u, v = self.embed(a), self.embed(b)
        return self.score(torch.cat([(u - v).abs(), u * v], dim=-1)).squeeze(-1)


config = BertConfig(vocab_size=80, hidden_size=32, num_hidden_layers=4, num_attention_heads=4,
                    intermediate_size=64, max_position_embeddings=32)
model = SentencePairScorer(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loss_fn = nn.BCEWithLogitsLoss()

for step in range(5):
    a = torch.randint(1, 80, (16, 12))
    same = torch.rand(16) < 0.5
    b = torch.where(same[:, None], a.roll(1, dims=1), torch.randint(1, 80, (16, 12)))
    loss = loss_fn(model(a, b), same.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
