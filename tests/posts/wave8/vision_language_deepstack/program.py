import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

IMAGE_TOKEN = 1


class GatherSequence(torch.autograd.Function):
    """collects the parts of a sequence from the ranks of a sequence-parallel group"""

    @staticmethod
    def forward(ctx, x, world_size):
        ctx.world_size = world_size
        if world_size == 1:
            return x
        raise NotImplementedError('needs torch.distributed')

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class DecoderLayer(nn.Module):
    def __init__(self, dim, heads, world_size=1):
        super().__init__()
        self.heads, self.world_size = heads, world_size
        self.input_layernorm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.o_proj = nn.Linear(dim, dim, bias=False)
        self.post_attention_layernorm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))

    def forward(self, hidden_states):
        seq_len = hidden_states.shape[1]
        hidden_states = F.pad(hidden_states, (0, 0, 0, -seq_len % 8))
        b, n, d = hidden_states.shape
        q, k, v = self.qkv(self.input_layernorm(hidden_states)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attn = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, d)
        hidden_states = hidden_states + self.o_proj(attn)
        hidden_states = hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))
        hidden_states = GatherSequence.apply(hidden_states, self.world_size)
        return hidden_states[:, :seq_len]


class TextModel(nn.Module):
    def __init__(self, vocab=1000, dim=256, layers=4, heads=8):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([DecoderLayer(dim, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)

    def forward(self, input_ids, visual_pos_masks, deepstack_visual_embeds):
        hidden_states = self.embed_tokens(input_ids)
        for layer_idx, layer in enumerate(self.layers):
            hidden_states = layer(hidden_states)
            # the features of the vision tower go to the first layers
            if layer_idx < len(deepstack_visual_embeds):
                hidden_states = self.add_visual(
                    hidden_states, visual_pos_masks, deepstack_visual_embeds[layer_idx])
        return self.norm(hidden_states)

    def add_visual(self, hidden_states, visual_pos_masks, visual_embeds):
        local = hidden_states[visual_pos_masks, :].clone() + visual_embeds
        hidden_states[visual_pos_masks, :] = local
        return hidden_states


class VisionLanguageModel(nn.Module):
    def __init__(self, vocab=1000, dim=256, patch_dim=588, deepstack=3):
        super().__init__()
        self.visual = nn.ModuleList([nn.Linear(patch_dim, dim) for _ in range(deepstack)])
        self.language_model = TextModel(vocab, dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, input_ids, pixel_values):
        mask = input_ids == IMAGE_TOKEN
        visual_embeds = [v(pixel_values.flatten(0, 1)) for v in self.visual]
        return self.lm_head(self.language_model(input_ids, mask, visual_embeds))


class Captions(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        text = torch.randint(2, 1000, (30,), generator=g)
        text[1:17] = IMAGE_TOKEN
        return text, torch.randn(16, 588, generator=g)


def main():
    model = VisionLanguageModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step, (input_ids, pixel_values) in enumerate(DataLoader(Captions(), batch_size=4)):
        logits = model(input_ids, pixel_values)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


if __name__ == '__main__':
    main()
