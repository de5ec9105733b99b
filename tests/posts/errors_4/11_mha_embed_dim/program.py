import torch
import torch.nn as nn


class CrossModal(nn.Module):
    """Text queries attend to audio frames."""

    def __init__(self, text_dim=64, audio_dim=40, heads=4, n_out=5):
        super().__init__()
        self.text_norm = nn.LayerNorm(text_dim)
        self.audio_norm = nn.LayerNorm(audio_dim)
        self.attn = nn.MultiheadAttention(audio_dim, heads, kdim=text_dim, vdim=text_dim, batch_first=True)
        self.head = nn.Linear(text_dim, n_out)

    def forward(self, text, audio):
        t = self.text_norm(text)
        a = self.audio_norm(audio)
        fused, _ = self.attn(t, a, a)
        return self.head((text + fused).mean(dim=1))


torch.manual_seed(0)
model = CrossModal()
optim = torch.optim.AdamW(model.parameters(), lr=1e-3)
emotions = torch.randint(0, 5, (8,))
text = torch.randn(8, 12, 64)
audio = torch.randn(8, 50, 40)

for step in range(4):
    logits = model(text, audio)
    loss = nn.functional.cross_entropy(logits, emotions)
    optim.zero_grad()
    loss.backward()
    optim.step()
    print(step, round(loss.item(), 4))
