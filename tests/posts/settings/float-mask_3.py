# line 21: the tgt_mask of the decoder is a float triangle of 0 and 1, which is added to the scores and hides nothing
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PAIRS, LEN, VOCAB = 400, 7, 16


class Calculator(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.src_pos = nn.Parameter(torch.randn(LEN, dim) * 0.1)
        self.tgt_pos = nn.Parameter(torch.randn(LEN, dim) * 0.1)
        layer = nn.TransformerDecoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 1)
        self.out = nn.Linear(dim, VOCAB)

    @staticmethod
    def look_ahead(size):
        return torch.ones(size, size).triu(diagonal=1)

    def forward(self, source, target):
        memory = self.tok(source) + self.src_pos
        x = self.tok(target) + self.tgt_pos[: target.size(1)]
        return self.out(self.decoder(x, memory, tgt_mask=self.look_ahead(target.size(1))))

    @torch.no_grad()
    def solve(self, source):
        self.eval()
        target = source.new_zeros(len(source), 1)
        for _ in range(LEN - 1):
            target = torch.cat([target, self(source, target)[:, -1].argmax(-1, keepdim=True)], dim=1)
        return target[:, 1:]


def tasks(n):
    source = torch.randint(1, VOCAB, (n, LEN))
    target = torch.cat([torch.zeros(n, 1, dtype=torch.long), source.cumsum(1)[:, 1:] % VOCAB], dim=1)
    return TensorDataset(source, target)


torch.manual_seed(0)
model = Calculator()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    summed = 0.0
    for source, target in DataLoader(tasks(PAIRS), batch_size=40, shuffle=True):
        optimizer.zero_grad()
        logits = model(source, target[:, :-1])
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), target[:, 1:])
        loss.backward()
        optimizer.step()
        summed += loss.item() * len(source)
    print(epoch, summed / PAIRS)
source, target = tasks(50).tensors
print("right", (model.solve(source) == target[:, 1:]).float().mean().item())
