import torch
import torch.nn as nn
import torch.nn.functional as F


class LSTMEncoder(nn.Module):
    def __init__(self, vocab, embed_dim=64, hidden=64, pad=1):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, embed_dim, padding_idx=pad)
        self.lstm = nn.LSTM(embed_dim, hidden)

    def forward(self, src_tokens):
        x = self.embed_tokens(src_tokens).transpose(0, 1)  # B x T x C -> T x B x C
        outs, (final_hiddens, final_cells) = self.lstm(x)
        return outs, final_hiddens, final_cells


class AttentionLayer(nn.Module):
    def __init__(self, dim, embed_dim):
        super().__init__()
        self.input_proj = nn.Linear(dim, embed_dim, bias=False)
        self.output_proj = nn.Linear(dim + embed_dim, dim, bias=False)

    def forward(self, input, source_hids):
        # input: bsz x dim, source_hids: srclen x bsz x embed_dim
        x = self.input_proj(input)
        scores = (source_hids * x.unsqueeze(0)).sum(dim=2)
        attn = F.softmax(scores, dim=0)
        x = (attn.unsqueeze(2) * source_hids).sum(dim=0)
        return torch.tanh(self.output_proj(torch.cat((x, input), dim=1))), attn


class LSTMDecoder(nn.Module):
    def __init__(self, vocab, embed_dim=64, hidden=64, pad=1):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, embed_dim, padding_idx=pad)
        self.cell = nn.LSTMCell(embed_dim + hidden, hidden)
        self.attention = AttentionLayer(hidden, hidden)
        self.coverage = nn.Linear(2, 1)
        self.fc_out = nn.Linear(hidden, vocab)

    def forward(self, prev_output_tokens, encoder_out):
        encoder_outs, h, c = encoder_out[0], encoder_out[1][-1], encoder_out[2][-1]
        x = self.embed_tokens(prev_output_tokens).transpose(0, 1)
        feed = torch.zeros_like(h)
        outs = []
        for j in range(x.size(0)):
            h, c = self.cell(torch.cat((x[j], feed), dim=1), (h, c))
            feed, attn = self.attention(h, encoder_outs)
            outs.append(self.fc_out(feed))
            # what was read in this step is dimmed for the next steps
            k = j % encoder_outs.size(2)
            seen = torch.sigmoid(self.coverage(torch.stack((attn, encoder_outs[:, :, k]), dim=-1)).squeeze(-1))
            dimmed = encoder_outs.clone()
            dimmed[:, :, k] = encoder_outs[:, :, k] * seen
            encoder_outs = dimmed
        return torch.stack(outs, dim=1)


class Seq2Seq(nn.Module):
    def __init__(self, src_vocab, tgt_vocab):
        super().__init__()
        self.encoder = LSTMEncoder(src_vocab)
        self.decoder = LSTMDecoder(tgt_vocab)

    def forward(self, src_tokens, prev_output_tokens):
        return self.decoder(prev_output_tokens, self.encoder(src_tokens))


if __name__ == '__main__':
    torch.manual_seed(1)
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    model = Seq2Seq(120, 150).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for update in range(3):
        src = torch.randint(2, 120, (8, 11), device=device)
        tgt = torch.randint(2, 150, (8, 9), device=device)
        logits = model(src, tgt[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 150), tgt[:, 1:].reshape(-1), ignore_index=1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        print('| update %d | loss %.3f' % (update, loss.item()))
