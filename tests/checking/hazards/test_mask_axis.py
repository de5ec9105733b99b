"""Masks along the queries, and masks that show the future."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.hazards import found, program, warned

EMBED = """\
self.emb = nn.Embedding(20, 8)
self.qkv = nn.Linear(8, 24)
self.layer = nn.MultiheadAttention(8, 2, batch_first=True)"""
HEADS = """
        B, T = ids.shape
        qkv = self.qkv(self.emb(ids)).view(B, T, 3, 2, 4)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
"""
IDS = "torch.randint(0, 20, (3, 7))"

TRUE = {
    "padding along the queries": f"""ids:{HEADS}
        pad = (ids == 0)[:, None, :, None]
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(pad, -1e9)  # here
        return scores.softmax(-1) @ v""",
    "padding along the queries, then scaled": f"""ids:{HEADS}
        keep = (ids != 0).unsqueeze(1).unsqueeze(3)
        scores = (q @ k.transpose(2, 3)).masked_fill(keep == 0, float("-inf"))  # here
        return torch.softmax(scores / 2.0, dim=3) @ v""",
    "padding along the queries of the fused call": f"""ids:{HEADS}
        keep = (ids != 0)[:, None, :, None]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)  # here""",
    "padding along the queries, added": f"""ids:{HEADS}
        pad = (ids == 0).float()[:, None, :, None]
        scores = q @ k.transpose(2, 3) + pad * -1e9  # here
        return scores.softmax(-1) @ v""",
    "padding along the queries, by where": f"""ids:{HEADS}
        keep = (ids != 0)[:, None, :, None]
        scores = q @ k.transpose(2, 3)
        scores = torch.where(keep, scores, torch.full_like(scores, -1e9))  # here
        return scores.softmax(-1) @ v""",
    "padding along the queries, by a pattern": f"""ids:{HEADS}
        from einops import rearrange
        pad = rearrange(ids == 0, "b i -> b 1 i 1")
        scores = (q @ k.transpose(2, 3)).masked_fill(pad, -1e9)  # here
        return scores.softmax(-1) @ v""",
    "padding along the queries, by a view": f"""ids:{HEADS}
        pad = (ids == 0).view(B, 1, T, 1)
        scores = (q @ k.transpose(2, 3)).masked_fill(pad, -1e9)  # here
        return scores.softmax(-1) @ v""",
    "padding along the queries, behind all dims": f"""ids:{HEADS}
        pad = (ids == 0).unsqueeze(1)[..., None]
        scores = (q @ k.transpose(2, 3)).masked_fill(pad, -1e9)  # here
        return scores.softmax(-1) @ v""",
    "the past is hidden from a layer": """ids:
        hidden = torch.ones(7, 7, device=ids.device).tril().bool()
        x = self.emb(ids)
        return self.layer(x, x, x, attn_mask=hidden)[0]  # here""",
    "the mask of the other convention": f"""ids:{HEADS}
        hidden = torch.triu(torch.ones(T, T, dtype=torch.bool, device=ids.device), 1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=hidden)  # here""",
    "the past is hidden": f"""ids:{HEADS}
        lower = torch.tril(torch.ones(T, T, device=ids.device))
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(lower == 1, float("-inf"))  # here
        return scores.softmax(-1) @ v""",
    "rows and columns are exchanged": f"""ids:{HEADS}
        i = torch.arange(T, device=ids.device)
        return F.scaled_dot_product_attention(  # here
            q, k, v, attn_mask=i[:, None] <= i[None, :])""",
}

LEGAL = {
    "padding along the keys": f"""ids:{HEADS}
        pad = (ids == 0)[:, None, None, :]
        scores = (q @ k.transpose(2, 3)).masked_fill(pad, -1e9)
        return scores.softmax(-1) @ v""",
    "padding along both": f"""ids:{HEADS}
        pad = ids == 0
        scores = (q @ k.transpose(2, 3)).masked_fill(pad[:, None, None, :], -1e9)
        scores = scores.masked_fill(pad[:, None, :, None], -1e9)
        out = scores.softmax(-1) @ v
        return out.masked_fill(pad[:, None, :, None], 0.0)""",
    "causal": f"""ids:{HEADS}
        lower = torch.tril(torch.ones(T, T, device=ids.device))
        upper = torch.triu(torch.ones(T, T, device=ids.device), diagonal=1).bool()
        scores = q @ k.transpose(2, 3)
        a = scores.masked_fill(lower == 0, float("-inf")).softmax(-1) @ v
        b = scores.masked_fill(upper, float("-inf")).softmax(-1) @ v
        c = F.scaled_dot_product_attention(q, k, v, attn_mask=lower.bool())
        return a, b, c, F.scaled_dot_product_attention(q, k, v, attn_mask=~upper)""",
    "causal from ranges": f"""ids:{HEADS}
        i = torch.arange(T, device=ids.device)
        keep = (i[None, :] <= i[:, None]) & (i[None, :] > i[:, None] - 3)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=i[:, None] >= i[None, :])
        return a, F.scaled_dot_product_attention(q, k, v, attn_mask=keep)""",
    "padding along the keys, added and by where": f"""ids:{HEADS}
        pad = (ids == 0).float()[:, None, None, :]
        scores = q @ k.transpose(2, 3)
        a = (scores + pad * -1e9).softmax(-1) @ v
        low = torch.full_like(scores, -1e9)
        return a, torch.where(pad == 0, scores, low).softmax(-1) @ v""",
    "causal for a layer": """ids:
        hidden = torch.ones(7, 7, device=ids.device).triu(1).bool()
        x = self.emb(ids)
        return self.layer(x, x, x, attn_mask=hidden)[0]""",
    "pooling over time": """ids:
        x = self.emb(ids)
        scores = x[..., :1].masked_fill((ids == 0).unsqueeze(-1), -1e9)
        return (scores.softmax(dim=1) * x).sum(1)""",
    "a mask of queries after the softmax": f"""ids:{HEADS}
        weights = (q @ k.transpose(2, 3)).softmax(-1)
        return weights.masked_fill((ids == 0)[:, None, :, None], 0.0) @ v""",
}


@pytest.mark.parametrize("name", TRUE)
def test_true(tmp_path: Path, name: str) -> None:
    said = warned(tmp_path, program(EMBED, TRUE[name], IDS))
    assert [each.endswith("# here") for each in said] == [True]
    assert said[0].startswith("mask-axis: ")


@pytest.mark.parametrize("name", LEGAL)
def test_legal(tmp_path: Path, name: str) -> None:
    assert warned(tmp_path, program(EMBED, LEGAL[name], IDS)) == []


TURNED = {
    "padding along the queries": "`(ids == 0)[:, None, None, :]`",
    "padding along the queries, then scaled": "`(ids != 0).unsqueeze(1).unsqueeze(2)`",
    "padding along the queries of the fused call": "`(ids != 0)[:, None, None, :]`",
    "padding along the queries, by a pattern": '`"b i -> b 1 1 i"`',
    "padding along the queries, by a view": "`view(B, 1, 1, T)`",
    "padding along the queries, behind all dims": (
        "`(ids == 0).unsqueeze(1)[..., None, :]`"
    ),
}
WRITTEN = {
    '`"b i -> b 1 1 i"`': 'rearrange(ids == 0, "b i',
    "`view(B, 1, 1, T)`": ".view(B, 1, T, 1)",
}
"""What stands at the place of an edit, if it begins with other words."""


@pytest.mark.parametrize("name", TURNED)
def test_the_mask_is_turned_where_it_gets_its_dims(tmp_path: Path, name: str) -> None:
    body, fix = TRUE[name], TURNED[name]
    (finding,) = found(tmp_path, program(EMBED, body, IDS))
    assert [each.message for each in finding.fixes] == [fix]
    line = finding.related[-1].span.line
    assert (
        WRITTEN.get(fix, fix[1:11]) in program(EMBED, body, IDS).splitlines()[line - 1]
    )
