import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

VOCAB = ["<pad>", "a", "photo", "of", "painting", "the", "and", "<v0>", "<v1>", "<v2>"]
TEMPLATES = ["a photo of {}", "a painting of {}", "the photo of {} and {}"]
MAX_LEN = 8


def tokenize(text):
    ids = [VOCAB.index(word) for word in text.split()]
    return ids + [0] * (MAX_LEN - len(ids))


class TextEncoder(nn.Module):
    def __init__(self, vocab_size, dim=32):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, dim)
        self.position_embedding = nn.Parameter(torch.zeros(MAX_LEN, dim))
        layer = nn.TransformerEncoderLayer(dim, nhead=4, dim_feedforward=64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)

    def forward(self, input_ids):
        x = self.token_embedding(input_ids) + self.position_embedding
        return self.encoder(x)


class Denoiser(nn.Module):
    def __init__(self, channels=4, dim=32):
        super().__init__()
        self.time = nn.Linear(1, dim)
        self.inp = nn.Conv2d(channels, dim, 3, padding=1)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.out = nn.Conv2d(dim, channels, 3, padding=1)

    def forward(self, latents, t, context):
        b, _, h, w = latents.shape
        x = self.inp(latents) + self.time(t[:, None])[:, :, None, None]
        tokens = x.flatten(2).transpose(1, 2)
        attended, _ = self.attn(tokens, context, context)
        x = (tokens + attended).transpose(1, 2).reshape(b, -1, h, w)
        return self.out(F.silu(x))


def make_prompts(concepts):
    prompts = []
    for i, names in enumerate(concepts):
        template = TEMPLATES[2] if len(names) > 1 else TEMPLATES[i % 2]
        prompts.append(template.format(*names))
    return prompts


def training_loss(text_encoder, denoiser, latents, concepts):
    prompt_ids = torch.tensor([tokenize(p) for p in make_prompts(concepts)], device=latents.device)
    context = text_encoder(prompt_ids)

    noise = torch.randn_like(latents)
    t = torch.rand(latents.size(0), device=latents.device)
    alpha = (1 - t)[:, None, None, None]
    noisy = alpha.sqrt() * latents + (1 - alpha).sqrt() * noise
    return F.mse_loss(denoiser(noisy, t, context), noise)


def main():
    torch.manual_seed(0)
    text_encoder = TextEncoder(len(VOCAB)).to(device)
    denoiser = Denoiser().to(device)
    params = list(text_encoder.parameters()) + list(denoiser.parameters())
    optimizer = torch.optim.AdamW(params, lr=1e-3)

    concepts = [["<v0>"], ["<v1>"], ["<v0>", "<v2>"], ["<v2>"]]
    for step in range(20):
        latents = torch.randn(len(concepts), 4, 8, 8, device=device)
        loss = training_loss(text_encoder, denoiser, latents, concepts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
