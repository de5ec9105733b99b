import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_pairs(n, text_len=6, grid=5, num_text=24, num_codes=16, seed=0):
    """Captions and the codebook indices of small pictures: a plain ground with one object."""
    g = torch.Generator().manual_seed(seed)
    text = torch.randint(1, num_text, (n, text_len), generator=g)
    codes = torch.zeros(n, grid, grid, dtype=torch.long)
    for i in range(n):
        row, col, kind = (int(v) for v in text[i, :3])
        codes[i, row % (grid - 1):row % (grid - 1) + 2, col % (grid - 1):col % (grid - 1) + 2] = 1 + kind % (num_codes - 1)
    return TensorDataset(text, codes.flatten(1))


class TextEncoder(nn.Module):
    def __init__(self, num_text, text_len, dim):
        super().__init__()
        self.emb = nn.Embedding(num_text, dim)
        self.pos = nn.Parameter(torch.randn(1, text_len, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, text):
        return self.layers(self.emb(text) + self.pos)


class ImageCodeModel(nn.Module):
    """Predicts the codes of an image one by one from its caption."""

    def __init__(self, num_text=24, text_len=6, num_codes=16, image_len=25, dim=64, depth=2, ignore_index=-100):
        super().__init__()
        self.image_len = image_len
        self.ignore_index = ignore_index
        self.text_encoder = TextEncoder(num_text, text_len, dim)
        self.start = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.code_emb = nn.Embedding(num_codes, dim)
        self.pos = nn.Parameter(torch.randn(1, image_len, dim) * 0.02)
        layer = nn.TransformerDecoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerDecoder(layer, depth, norm=nn.LayerNorm(dim))
        self.to_logits = nn.Linear(dim, num_codes)

    def decode(self, codes, context):
        x = torch.cat([self.start.expand(len(context), -1, -1), self.code_emb(codes)], dim=1)
        n = x.size(1)
        causal = torch.triu(torch.ones(n, n, dtype=torch.bool, device=x.device), diagonal=1)
        return self.to_logits(self.layers(x + self.pos[:, :n], context, tgt_mask=causal))

    def forward(self, text, codes):
        logits = self.decode(codes[:, :-1], self.text_encoder(text))
        return F.cross_entropy(logits.transpose(1, 2), codes, ignore_index=self.ignore_index)

    @torch.no_grad()
    def generate(self, text):
        context = self.text_encoder(text)
        codes = torch.zeros(len(text), 0, dtype=torch.long, device=text.device)
        for _ in range(self.image_len):
            logits = self.decode(codes, context)[:, -1]
            codes = torch.cat([codes, logits.argmax(dim=1, keepdim=True)], dim=1)
        return codes


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = make_pairs(512)
    loader = DataLoader(data, batch_size=32, shuffle=True)
    model = ImageCodeModel().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(8):
        model.train()
        total = 0.0
        for text, codes in loader:
            loss = model(text.to(device), codes.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(text)
        print(f"epoch {epoch + 1}: loss {total / len(data):.4f}")

    model.eval()
    text, codes = (t[:64].to(device) for t in data.tensors)
    made = model.generate(text)
    print(f"right codes: {(made == codes).float().mean().item():.3f}")
    print("first picture:\n", made[0].view(5, 5).cpu().numpy(), "\nwanted:\n", codes[0].view(5, 5).cpu().numpy())


if __name__ == "__main__":
    main()
