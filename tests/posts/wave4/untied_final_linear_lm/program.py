import torch
import torch.nn as nn
import torch.nn.functional as F


class FinalLinear:
    """Maps hidden states to the vocabulary when the embedding is not shared."""

    def __init__(self, hidden_size, vocab_size, bias=False):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, hidden_size))
        nn.init.normal_(self.weight, std=0.02)
        self.bias = nn.Parameter(torch.zeros(vocab_size)) if bias else None

    def __call__(self, hidden):
        return self.forward(hidden)

    def forward(self, hidden):
        return F.linear(hidden, self.weight, self.bias)


class GPTNeo(nn.Module):
    def __init__(self, vocab_size=257, hidden_size=96, num_layers=2, heads=4, seq_length=64, no_weight_tying=True):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, hidden_size)
        self.position_embeddings = nn.Embedding(seq_length, hidden_size)
        layer = nn.TransformerEncoderLayer(hidden_size, heads, 4 * hidden_size, 0.0, 'gelu',
                                           batch_first=True, norm_first=True)
        self.transformer = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(hidden_size)
        self.final_linear = FinalLinear(hidden_size, vocab_size) if no_weight_tying else None
        self.register_buffer('mask', torch.ones(seq_length, seq_length).triu(1).bool(), persistent=False)

    def forward(self, tokens):
        n = tokens.size(1)
        h = self.word_embeddings(tokens) + self.position_embeddings.weight[:n]
        h = self.norm(self.transformer(h, mask=self.mask[:n, :n]))
        if self.final_linear is not None:
            return self.final_linear(h)
        return F.linear(h, self.word_embeddings.weight)


def byte_stream(n_batches, batch=8, length=64):
    text = b'the quick brown fox jumps over the lazy dog and runs away. ' * 40
    data = torch.tensor(list(text))
    for _ in range(n_batches):
        start = torch.randint(0, len(data) - length - 1, (batch,))
        yield torch.stack([data[s:s + length + 1] for s in start])


if __name__ == '__main__':
    torch.manual_seed(1234)
    model = GPTNeo()
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{'params': decay, 'weight_decay': 0.1}, {'params': rest, 'weight_decay': 0.0}], lr=1e-3)
    print('parameters:', sum(p.numel() for p in model.parameters()))
    for i, chunk in enumerate(byte_stream(30)):
        logits = model(chunk[:, :-1])
        lm_loss = F.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())
        optimizer.zero_grad()
        lm_loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if i % 10 == 9:
            print('iteration', i + 1, 'lm loss', round(lm_loss.item(), 4))
