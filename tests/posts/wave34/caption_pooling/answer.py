import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def l2norm(x):
    return x / x.norm(dim=-1, keepdim=True).clamp(min=1e-8)


class EncoderImage(nn.Module):
    def __init__(self, feat_dim, embed_size):
        super(EncoderImage, self).__init__()
        self.fc = nn.Linear(feat_dim, embed_size)

    def forward(self, feats):
        return l2norm(self.fc(feats))


class EncoderText(nn.Module):
    def __init__(self, vocab_size, word_dim, embed_size, dropout=0.0):
        super(EncoderText, self).__init__()
        self.embed_size = embed_size
        self.embed = nn.Embedding(vocab_size, word_dim, padding_idx=0)
        self.rnn = nn.GRU(word_dim, embed_size // 2, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens, lengths):
        wemb = self.dropout(self.embed(tokens))
        packed = pack_padded_sequence(wemb, lengths, batch_first=True)
        rnn_out, h_n = self.rnn(packed)
        padded, _ = pad_packed_sequence(rnn_out, batch_first=True)

        index = torch.tensor(lengths).view(-1, 1, 1) - 1
        index = index.expand(-1, 1, self.embed_size)
        out = torch.cat([h_n[0], h_n[1]], dim=1)
        return l2norm(out)


class TripletLoss(nn.Module):
    def __init__(self, margin=0.2):
        super(TripletLoss, self).__init__()
        self.margin = margin

    def forward(self, img, txt):
        scores = img @ txt.t()
        pos = scores.diag().view(-1, 1)
        eye = torch.eye(scores.size(0), dtype=torch.bool)
        cost_s = F.relu(self.margin + scores - pos).masked_fill(eye, 0)
        cost_im = F.relu(self.margin + scores - pos.t()).masked_fill(eye, 0)
        return cost_s.max(1)[0].mean() + cost_im.max(0)[0].mean()


class CaptionSet(object):
    """Images named by their words; captions sorted by length in a batch."""

    def __init__(self, seed, vocab=60, feat_dim=40):
        self.rng = np.random.RandomState(seed)
        self.table = np.random.RandomState(0).randn(vocab, feat_dim).astype('float32')
        self.vocab = vocab

    def batch(self, n):
        lengths = sorted(self.rng.randint(4, 12, n).tolist(), reverse=True)
        tokens = np.zeros((n, max(lengths)), dtype='int64')
        feats = np.zeros((n, self.table.shape[1]), dtype='float32')
        for i, m in enumerate(lengths):
            words = self.rng.randint(1, self.vocab, m)
            tokens[i, :m] = words
            feats[i] = 2 * self.table[words[:3]].mean(0) + self.table[words].mean(0)
        return torch.from_numpy(feats), torch.from_numpy(tokens), lengths


def recall_at(img, txt, k):
    rank = (img @ txt.t()).argsort(dim=1, descending=True)[:, :k]
    return (rank == torch.arange(len(img)).view(-1, 1)).any(1).float().mean().item() * 100


def main():
    torch.manual_seed(0)
    img_enc, txt_enc = EncoderImage(40, 64), EncoderText(60, 32, 64)
    criterion = TripletLoss()
    optimizer = torch.optim.Adam(list(img_enc.parameters()) + list(txt_enc.parameters()), lr=2e-3)
    data = CaptionSet(1)
    for it in range(200):
        feats, tokens, lengths = data.batch(48)
        loss = criterion(img_enc(feats), txt_enc(tokens, lengths))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(txt_enc.parameters(), 2.0)
        optimizer.step()
        if (it + 1) % 50 == 0:
            print('iter %d loss %.4f' % (it + 1, loss.item()))

    txt_enc.eval()
    with torch.no_grad():
        feats, tokens, lengths = CaptionSet(2).batch(200)
        img, txt = img_enc(feats), txt_enc(tokens, lengths)
    print('R@1 %.1f R@5 %.1f' % (recall_at(img, txt, 1), recall_at(img, txt, 5)))


if __name__ == '__main__':
    main()
