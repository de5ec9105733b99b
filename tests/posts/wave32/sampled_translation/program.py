import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS = 0, 1, 2
VOCAB = 40


def get_parser():
    parser = argparse.ArgumentParser("generate")
    parser.add_argument("--beam", default=3, type=int, help="samples for each sentence")
    parser.add_argument("--max-len", default=12, type=int)
    parser.add_argument("--min-len", default=1, type=int)
    parser.add_argument("--sampling", default=True, type=bool)
    parser.add_argument("--sampling-topk", default=-1, type=int)
    parser.add_argument("--sampling-temperature", default=0.1, type=float)
    parser.add_argument("--train-steps", default=250, type=int)
    parser.add_argument("--seed", default=1, type=int)
    return parser


class Seq2Seq(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, src, prev):
        _, state = self.encoder(self.embed(src))
        x, _ = self.decoder(self.embed(prev), state)
        return self.out(x)


class SequenceGenerator:
    def __init__(self, model, beam_size=1, max_len=20, min_len=1, sampling=False, sampling_topk=-1,
                 sampling_temperature=1.0):
        self.model = model
        self.beam_size = beam_size
        self.max_len = max_len
        self.min_len = min_len
        self.sampling = sampling
        self.sampling_topk = sampling_topk
        self.sampling_temperature = sampling_temperature

    @torch.no_grad()
    def generate(self, src):
        src = src.repeat_interleave(self.beam_size, 0)
        tokens = torch.full((src.size(0), 1), BOS)
        done = torch.zeros(src.size(0), dtype=torch.bool)
        for step in range(self.max_len):
            logits = self.model(src, tokens)[:, -1]
            logits[:, PAD] = logits[:, BOS] = float("-inf")
            if step < self.min_len:
                logits[:, EOS] = float("-inf")
            if self.sampling:
                if self.sampling_topk > 0:
                    kth = logits.topk(self.sampling_topk)[0][:, -1:]
                    logits = logits.masked_fill(logits < kth, float("-inf"))
                probs = F.softmax(logits / self.sampling_temperature, dim=-1)
                nxt = torch.multinomial(probs, 1)
            else:
                nxt = logits.argmax(-1, keepdim=True)
            nxt[done] = PAD
            tokens = torch.cat([tokens, nxt], 1)
            done |= nxt.squeeze(1).eq(EOS)
            if done.all():
                break
        return tokens[:, 1:]


def make_batch(n, length=6):
    src = torch.randint(3, VOCAB, (n, length))
    tgt = torch.cat([(src - 3 + 7) % (VOCAB - 3) + 3, torch.full((n, 1), EOS)], 1)
    prev = torch.cat([torch.full((n, 1), BOS), tgt[:, :-1]], 1)
    return src, prev, tgt


def main(args):
    torch.manual_seed(args.seed)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(args.train_steps):
        src, prev, tgt = make_batch(32)
        loss = F.cross_entropy(model(src, prev).flatten(0, 1), tgt.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("| train loss %.3f" % loss.item())

    model.eval()
    translator = SequenceGenerator(
        model, beam_size=args.beam, max_len=args.max_len, min_len=args.min_len,
        sampling=args.sampling, sampling_topk=args.sampling_topk,
    )
    src, _, tgt = make_batch(4)
    hypos = translator.generate(src).view(4, args.beam, -1)
    for i in range(4):
        print("S-%d" % i, src[i].tolist())
        for h in hypos[i]:
            print("H-%d" % i, [t for t in h.tolist() if t not in (PAD, EOS)])
    print("| distinct hypotheses", len(torch.unique(hypos.flatten(0, 1), dim=0)))


if __name__ == "__main__":
    main(get_parser().parse_args())
