import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange

torch.manual_seed(0)


class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim=None, heads=8, dim_head=64, img_cross_attention=False, text_context_len=77):
        super().__init__()
        inner_dim = dim_head * heads
        context_dim = context_dim or query_dim
        self.scale = dim_head ** -0.5
        self.heads = heads
        self.text_context_len = text_context_len
        self.img_cross_attention = img_cross_attention
        self.image_cross_attention_scale = 1.0
        self.to_q = nn.Linear(query_dim, inner_dim, bias=False)
        self.to_k = nn.Linear(context_dim, inner_dim, bias=False)
        self.to_v = nn.Linear(context_dim, inner_dim, bias=False)
        self.to_out = nn.Linear(inner_dim, query_dim)
        if img_cross_attention:
            self.to_k_ip = nn.Linear(context_dim, inner_dim, bias=False)
            self.to_v_ip = nn.Linear(context_dim, inner_dim, bias=False)

    def attend(self, q, k, v):
        sim = torch.einsum("b i d, b j d -> b i j", q, k) * self.scale
        return torch.einsum("b i j, b j d -> b i d", sim.softmax(dim=-1), v)

    def forward(self, x, context=None):
        h = self.heads
        q = rearrange(self.to_q(x), "b n (h d) -> (b h) n d", h=h)
        context = x if context is None else context
        context_img = None
        if self.img_cross_attention:
            context, context_img = context[:, :self.text_context_len], context[:, self.text_context_len:]
        k = rearrange(self.to_k(context), "b n (h d) -> (b h) n d", h=h)
        v = rearrange(self.to_v(context), "b n (h d) -> (b h) n d", h=h)
        out = self.attend(q, k, v)
        out = rearrange(out, "(b h) n d -> b n (h d)", h=h)
        if context_img is not None:
            k_ip = rearrange(self.to_k_ip(context_img), "b n (h d) -> (b h) n d", h=h)
            v_ip = rearrange(self.to_v_ip(context_img), "b n (h d) -> (b h) n d", h=h)
            out_ip = self.attend(q, k_ip, v_ip)
            out_ip = rearrange(out, "(b h) n d -> b n (h d)", h=h)
            out = out + self.image_cross_attention_scale * out_ip
        return self.to_out(out)


class SpatialTransformer(nn.Module):
    def __init__(self, channels, heads=5, dim_head=8, context_dim=32):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.proj_in = nn.Linear(channels, heads * dim_head)
        self.attn1 = CrossAttention(heads * dim_head, heads=heads, dim_head=dim_head)
        self.attn2 = CrossAttention(heads * dim_head, context_dim, heads, dim_head, img_cross_attention=True, text_context_len=12)
        self.proj_out = nn.Linear(heads * dim_head, channels)

    def forward(self, x, context):
        height = x.shape[2]
        y = rearrange(self.norm(x), "b c h w -> b (h w) c")
        y = self.proj_in(y)
        y = y + self.attn1(y)
        y = y + self.attn2(y, context)
        return x + rearrange(self.proj_out(y), "b (h w) c -> b c h w", h=height)


frames, context = 16, torch.randn(1, 12 + 4, 32)
model = SpatialTransformer(channels=16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(3):
    video = torch.randn(1, 16, frames, 8, 8)
    noise = torch.randn_like(video)
    x = rearrange(video + noise, "b c t h w -> (b t) c h w")
    pred = model(x, context.repeat_interleave(frames, dim=0))
    loss = F.mse_loss(pred, rearrange(noise, "b c t h w -> (b t) c h w"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
