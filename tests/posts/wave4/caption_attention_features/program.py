import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, rnn_size, att_hid_size):
        super(Attention, self).__init__()
        self.h2att = nn.Linear(rnn_size, att_hid_size)
        self.alpha_net = nn.Linear(att_hid_size, 1)

    def forward(self, h, att_feats, p_att_feats):
        dot = torch.tanh(p_att_feats + self.h2att(h).unsqueeze(1))
        weight = F.softmax(self.alpha_net(dot).squeeze(2), dim=1)
        return torch.bmm(weight.unsqueeze(1), att_feats).squeeze(1)


class TopDownCore(nn.Module):
    def __init__(self, rnn_size, emb_size, att_hid_size):
        super(TopDownCore, self).__init__()
        self.att_lstm = nn.LSTMCell(emb_size + rnn_size * 2, rnn_size)
        self.lang_lstm = nn.LSTMCell(rnn_size * 2, rnn_size)
        self.attention = Attention(rnn_size, att_hid_size)

    def forward(self, xt, fc_feats, att_feats, p_att_feats, state):
        (h_att, c_att), (h_lang, c_lang) = state
        h_att, c_att = self.att_lstm(torch.cat([h_lang, fc_feats, xt], 1), (h_att, c_att))
        att = self.attention(h_att, att_feats, p_att_feats)
        h_lang, c_lang = self.lang_lstm(torch.cat([att, h_att], 1), (h_lang, c_lang))
        return h_lang, ((h_att, c_att), (h_lang, c_lang))


class TopDownCaptioner(nn.Module):
    """Bottom-up features (36 regions of 2048) -> caption log probabilities, teacher forcing."""

    def __init__(self, vocab_size=500, rnn_size=128, emb_size=64, att_hid_size=64, att_feat_size=2048, use_bn=True):
        super(TopDownCaptioner, self).__init__()
        self.rnn_size, self.att_feat_size = rnn_size, att_feat_size
        self.embed = nn.Embedding(vocab_size + 1, emb_size)
        self.fc_embed = nn.Sequential(nn.Linear(att_feat_size, rnn_size), nn.ReLU(), nn.Dropout(0.5))
        self.att_embed = nn.Sequential(*(
            ((nn.BatchNorm1d(att_feat_size),) if use_bn else ()) +
            (nn.Linear(att_feat_size, rnn_size), nn.ReLU(), nn.Dropout(0.5))))
        self.ctx2att = nn.Linear(rnn_size, att_hid_size)
        self.core = TopDownCore(rnn_size, emb_size, att_hid_size)
        self.logit = nn.Linear(rnn_size, vocab_size + 1)

    def forward(self, att_feats, seq):
        batch, regions = att_feats.size(0), att_feats.size(1)
        fc_feats = self.fc_embed(att_feats.mean(1))
        att_feats = self.att_embed(att_feats)
        p_att_feats = self.ctx2att(att_feats)

        zero = att_feats.new_zeros(batch, self.rnn_size)
        state = ((zero, zero), (zero, zero))
        outputs = []
        for t in range(seq.size(1) - 1):
            xt = self.embed(seq[:, t])
            out, state = self.core(xt, fc_feats, att_feats, p_att_feats, state)
            outputs.append(F.log_softmax(self.logit(out), dim=1))
        return torch.stack(outputs, dim=1)
