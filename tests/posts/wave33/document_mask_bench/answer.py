import argparse
import random
import time

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, create_mask, flex_attention

torch.manual_seed(0)


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def sliding_window(width):
    def window(b, h, q_idx, kv_idx):
        return (q_idx >= kv_idx) & (q_idx - kv_idx <= width)
    return window


def document_mod(inner, doc_ids, starts):
    def document(b, h, q_idx, kv_idx):
        same = doc_ids[q_idx] == doc_ids[kv_idx]
        return same & inner(b, h, q_idx - starts[doc_ids[q_idx]], kv_idx - starts[doc_ids[kv_idx]])
    return document


def timed(fn, repeats=3):
    fn()
    t0 = time.perf_counter()
    for _ in range(repeats):
        fn()
    return (time.perf_counter() - t0) / repeats * 1e3


def bench(name, mask_mod, batch=1, heads=2, seq=512, dim=16):
    block_mask = create_block_mask(mask_mod, 1, 1, seq, seq, device="cpu")
    dense = create_mask(mask_mod, 1, 1, seq, seq, device="cpu")
    q, k, v = (torch.randn(batch, heads, seq, dim) for _ in range(3))

    def run_sdpa():
        return F.scaled_dot_product_attention(q, k, v, attn_mask=dense)

    def run_flex():
        return flex_attention(q, k, v, block_mask=block_mask)

    with torch.no_grad():
        diff = (run_sdpa() - run_flex()).abs().max().item()
        print(f"{name:10s} seq {seq:5d}  sdpa {timed(run_sdpa):7.2f} ms  flex {timed(run_flex):7.2f} ms"
              f"  sparsity {block_mask.sparsity():5.1f}%  diff {diff:.1e}")


def split_lengths(total, parts):
    lengths = [1] * parts
    for _ in range(total - parts):
        lengths[random.randrange(parts)] += 1
    return lengths


def bench_documents(max_seq_len, num_docs):
    random.seed(0)
    lengths = torch.tensor(split_lengths(max_seq_len, num_docs))
    starts = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)[:-1]])
    doc_ids = torch.repeat_interleave(torch.arange(num_docs), lengths)
    bench("document", document_mod(causal, doc_ids, starts), seq=max_seq_len)


def main(args):
    if "causal" in args.examples:
        bench("causal", causal)
    if "window" in args.examples:
        bench("window", sliding_window(128))
    if "document" in args.examples:
        bench_documents(max_seq_len=args.max_seq_len, num_docs=args.num_docs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", nargs="+", default=["causal", "window", "document"])
    parser.add_argument("--max-seq-len", type=int, default=768)
    parser.add_argument("--num-docs", type=int, default=5)
    main(parser.parse_args())
