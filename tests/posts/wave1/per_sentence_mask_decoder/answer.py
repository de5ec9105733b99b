import torch
import torch.nn as nn


class MaskedDecoderLayer(nn.Module):
    """Decoder layer in which every sentence of the batch has its own attention mask."""

    def __init__(self, d_model=64, n_heads=8, d_ff=128, dropout=0.1):
        super().__init__()
        self.n_heads = n_heads
        self.self_attn = nn.MultiheadAttention(d_model, n_heads, dropout=dropout, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(d_model, n_heads, dropout=dropout, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, tgt, memory, tgt_mask, memory_mask):
        # tgt (bsz, T, E), memory (bsz, S, E), tgt_mask (T, T), memory_mask (bsz, T, S)
        h, _ = self.self_attn(tgt, tgt, tgt, attn_mask=tgt_mask)
        tgt = self.norm1(tgt + h)
        h, _ = self.cross_attn(tgt, memory, memory, attn_mask=memory_mask.repeat_interleave(self.n_heads, dim=0))
        tgt = self.norm2(tgt + h)
        return self.norm3(tgt + self.ff(tgt))


class AlignedTranslator(nn.Module):
    def __init__(self, vocab=1000, d_model=64, n_layers=2):
        super().__init__()
        self.src_embed = nn.Embedding(vocab, d_model)
        self.tgt_embed = nn.Embedding(vocab, d_model)
        enc = nn.TransformerEncoderLayer(d_model, 8, 128, batch_first=True)
        self.encoder = nn.TransformerEncoder(enc, n_layers)
        self.decoder = nn.ModuleList([MaskedDecoderLayer(d_model) for _ in range(n_layers)])
        self.generator = nn.Linear(d_model, vocab)

    def forward(self, src, tgt, align_mask):
        """align_mask[b, i, j] is True where word i of the target must not look at word j of the source"""
        T = tgt.size(1)
        causal = torch.triu(torch.ones(T, T, dtype=torch.bool, device=tgt.device), diagonal=1)
        memory = self.encoder(self.src_embed(src))
        out = self.tgt_embed(tgt)
        for layer in self.decoder:
            out = layer(out, memory, causal, align_mask)
        return self.generator(out)
