import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class SoundingFrames(Dataset):
    """frames of short clips, the sound of their second and the mask of what makes it"""

    def __init__(self, n=32, classes=6, size=64):
        g = torch.Generator().manual_seed(0)
        self.sound = torch.randn(classes, 128, generator=g)
        self.colour = torch.rand(classes, 3, generator=g)
        self.picks = torch.stack([torch.randperm(classes, generator=g)[:2] for _ in range(n)])
        self.size = size

    def __len__(self):
        return len(self.picks)

    def __getitem__(self, i):
        a, b = self.picks[i]
        frame = torch.zeros(3, self.size, self.size)
        frame[:, 8:32, 8:32] = self.colour[a][:, None, None]
        frame[:, 36:60, 36:60] = self.colour[b][:, None, None]
        mask = torch.zeros(1, self.size, self.size)
        mask[:, 8:32, 8:32] = 1.
        return frame, self.sound[a] + 0.1 * torch.randn(128), mask


class DecoderLayer(nn.Module):
    def __init__(self, d_model, nhead):
        super().__init__()
        self.cross_attn = nn.MultiheadAttention(d_model, nhead)
        self.self_attn = nn.MultiheadAttention(d_model, nhead)
        self.linear1, self.linear2 = nn.Linear(d_model, d_model * 2), nn.Linear(d_model * 2, d_model)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, tgt, memory, query_pos):
        q = tgt + query_pos
        tgt = self.norm1(tgt + self.cross_attn(q, memory, memory)[0])
        q = tgt + query_pos
        tgt = self.norm2(tgt + self.self_attn(q, q, tgt)[0])
        return self.norm3(tgt + self.linear2(F.relu(self.linear1(tgt))))


class AVSegmentor(nn.Module):
    def __init__(self, hidden_dim=64, num_queries=10, nheads=4, dec_layers=2):
        super().__init__()
        self.num_queries = num_queries
        self.backbone = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, hidden_dim, 3, 2, 1), nn.ReLU(),
                                      nn.Conv2d(hidden_dim, hidden_dim, 3, padding=1))
        self.audio_proj = nn.Linear(128, hidden_dim)
        self.query_feat = nn.Embedding(num_queries, hidden_dim)
        self.query_embed = nn.Embedding(num_queries, hidden_dim)
        self.layers = nn.ModuleList([DecoderLayer(hidden_dim, nheads) for _ in range(dec_layers)])
        self.mask_embed = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, hidden_dim))
        self.score = nn.Linear(hidden_dim, 1)

    def forward(self, frame, audio):
        mask_features = self.backbone(frame)
        bs, c, h, w = mask_features.shape
        memory = mask_features.flatten(2).permute(2, 0, 1)
        audio_features = self.audio_proj(audio).unsqueeze(1)  # bs x 1 x c

        # QxNxC
        query_embed = self.query_embed.weight.unsqueeze(1).repeat(1, bs, 1)
        output = self.query_feat.weight.unsqueeze(1).repeat(1, bs, 1)
        audio_features = audio_features.repeat(1, self.num_queries, 1).reshape(self.num_queries, -1, audio_features.shape[-1])
        output = output + audio_features
        for layer in self.layers:
            output = layer(output, memory, query_embed)
        output = output.transpose(0, 1)
        masks = torch.einsum('bqc,bchw->bqhw', self.mask_embed(output), mask_features)
        weights = self.score(output).softmax(dim=1)
        out = (masks * weights.unsqueeze(-1)).sum(dim=1, keepdim=True)
        return F.interpolate(out, scale_factor=4, mode='bilinear', align_corners=False)


if __name__ == '__main__':
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    loader = DataLoader(SoundingFrames(), batch_size=4, shuffle=True)
    model = AVSegmentor().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    for epoch in range(3):
        losses = []
        for frame, audio, mask in loader:
            pred = model(frame.to(device), audio.to(device))
            loss = F.binary_cross_entropy_with_logits(pred, mask.to(device))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            losses.append(loss.item())
        print(f'epoch {epoch} loss {sum(losses) / len(losses):.4f}')
