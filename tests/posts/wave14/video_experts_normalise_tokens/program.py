import torch
import torch.nn as nn
import torch.nn.functional as F

EXPERTS = {'rgb': 40, 'audio': 16, 'face': 24}


class ReduceDim(nn.Module):
    def __init__(self, input_dimension, output_dimension):
        super(ReduceDim, self).__init__()
        self.fc = nn.Linear(input_dimension, output_dimension)

    def forward(self, x):
        x = self.fc(x)
        x = F.normalize(x)
        return x


class CENet(nn.Module):
    """text and video experts in one space; several tokens per expert"""

    def __init__(self, dim=32, text_dim=50):
        super(CENet, self).__init__()
        self.video_dim_reduce = nn.ModuleDict({m: ReduceDim(d, dim) for m, d in EXPERTS.items()})
        self.expert_embed = nn.Embedding(len(EXPERTS), dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.vid_bert = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.text_GU = ReduceDim(text_dim, dim)

    def forward(self, text, experts):
        tokens = []
        for i, mod in enumerate(EXPERTS):
            feat = self.video_dim_reduce[mod](experts[mod])
            tokens.append(feat + 0.1 * self.expert_embed.weight[i])
        if not self.training:
            self.token_norms = torch.cat([self.video_dim_reduce[m](experts[m]).norm(dim=-1).flatten() for m in EXPERTS])
        video = F.normalize(self.vid_bert(torch.cat(tokens, dim=1)).mean(dim=1), dim=-1)
        return self.text_GU(text) @ video.t()


class MaxMarginRankingLoss(nn.Module):
    def __init__(self, margin=0.1):
        super(MaxMarginRankingLoss, self).__init__()
        self.margin = margin

    def forward(self, sims):
        n = sims.size(0)
        pos = sims.diag().view(n, 1)
        off = ~torch.eye(n, dtype=torch.bool)
        rows = F.relu(self.margin + sims - pos)[off]
        cols = F.relu(self.margin + sims - pos.t())[off]
        return (rows.mean() + cols.mean()) / 2


class Clips:
    def __init__(self, seed=0, latent=8, text_dim=50):
        self.gen = torch.Generator().manual_seed(seed)
        self.latent = latent
        self.to_text = torch.randn(latent, text_dim, generator=self.gen)
        self.to_expert = {m: torch.randn(latent, d, generator=self.gen) for m, d in EXPERTS.items()}

    def sample(self, n, n_tokens=6):
        z = torch.randn(n, self.latent, generator=self.gen)
        text = z @ self.to_text + 0.3 * torch.randn(n, self.to_text.size(1), generator=self.gen)
        experts = {}
        for m, w in self.to_expert.items():
            scale = torch.rand(n, n_tokens, 1, generator=self.gen) * 3
            noise = torch.randn(n, n_tokens, w.size(1), generator=self.gen)
            experts[m] = scale * (z.unsqueeze(1) @ w + noise)
        return text, experts


if __name__ == '__main__':
    torch.manual_seed(0)
    clips = Clips()
    model = CENet()
    loss_fn = MaxMarginRankingLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(1, 121):
        sims = model(*clips.sample(32))
        loss = loss_fn(sims)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print('step %d loss %.4f' % (step, loss.item()))
    model.eval()
    with torch.no_grad():
        sims = model(*clips.sample(100))
        rank = (sims > sims.diag().view(-1, 1)).sum(dim=1)
    print('text to video R1 %.2f R5 %.2f' % ((rank < 1).float().mean().item(), (rank < 5).float().mean().item()))
    print('norm of the video tokens: min %.3f max %.3f' % (model.token_norms.min().item(), model.token_norms.max().item()))
