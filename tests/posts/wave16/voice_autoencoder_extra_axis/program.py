import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvNorm(nn.Module):
    def __init__(self, cin, cout, k=5):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, k, padding=k // 2)
        self.norm = nn.BatchNorm1d(cout)

    def forward(self, x):
        return self.norm(self.conv(x))


class Encoder(nn.Module):
    def __init__(self, n_mels, dim_emb, dim_neck, freq):
        super().__init__()
        self.freq, self.dim_neck = freq, dim_neck
        self.conv = ConvNorm(n_mels + dim_emb, 64)
        self.lstm = nn.LSTM(64, dim_neck, batch_first=True, bidirectional=True)

    def forward(self, mel, emb):
        x = torch.cat([mel, emb[:, None].expand(-1, mel.size(1), -1)], dim=2)
        x = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        y, _ = self.lstm(x)
        forward, backward = y[..., :self.dim_neck], y[..., self.dim_neck:]
        return torch.cat([forward[:, self.freq - 1::self.freq], backward[:, ::self.freq]], dim=-1)


class Decoder(nn.Module):
    def __init__(self, dim_in, n_mels):
        super().__init__()
        self.lstm = nn.LSTM(dim_in, 64, batch_first=True)
        self.proj = nn.Linear(64, n_mels)

    def forward(self, x):
        return self.proj(self.lstm(x)[0])


class Postnet(nn.Module):
    def __init__(self, n_mels):
        super().__init__()
        self.layers = nn.ModuleList([ConvNorm(n_mels, 32), ConvNorm(32, n_mels)])

    def forward(self, x):
        return self.layers[1](torch.tanh(self.layers[0](x)))


class Generator(nn.Module):
    def __init__(self, n_mels=20, dim_emb=8, dim_neck=8, freq=4):
        super().__init__()
        self.encoder = Encoder(n_mels, dim_emb, dim_neck, freq)
        self.decoder = Decoder(2 * dim_neck + dim_emb, n_mels)
        self.postnet = Postnet(n_mels)
        self.freq = freq

    def forward(self, mel, emb_org, emb_trg):
        codes = self.encoder(mel, emb_org)
        if emb_trg is None:
            return codes
        up = codes.repeat_interleave(self.freq, dim=1)
        up = torch.cat([up, emb_trg[:, None].expand(-1, up.size(1), -1)], dim=-1)
        mel_outputs = self.decoder(up)
        mel_postnet = mel_outputs + self.postnet(mel_outputs.transpose(1, 2)).transpose(1, 2)
        mel_outputs = mel_outputs.unsqueeze(1)
        mel_postnet = mel_postnet.unsqueeze(1)
        return mel_outputs, mel_postnet, codes


def speakers(n=6, dim_emb=8):
    g = torch.Generator().manual_seed(4)
    return F.normalize(torch.randn(n, dim_emb, generator=g), dim=1), torch.rand(n, 20, generator=g)


def utterances(steps, emb, timbre, batch=4, frames=32):
    t = torch.arange(frames).float()
    for _ in range(steps):
        who = torch.randperm(len(emb))[:batch]
        rate, bands = 0.1 + 0.3 * torch.rand(batch, 1, 1), torch.arange(20).float()
        melody = torch.sin(rate * t[None, :, None] + 0.3 * bands[None, None])
        yield melody * 0.5 + timbre[who][:, None], emb[who]


def main():
    torch.manual_seed(0)
    emb, timbre = speakers()
    G = Generator()
    optimizer = torch.optim.Adam(G.parameters(), lr=2e-3)
    for i, (x_real, e) in enumerate(utterances(240, emb, timbre)):
        x_identic, x_psnt, code = G(x_real, e, e)
        loss_id = F.mse_loss(x_real, x_identic)
        loss_psnt = F.mse_loss(x_real, x_psnt)
        loss_cd = F.l1_loss(code, G(x_psnt.reshape(x_real.shape), e, None))
        loss = loss_id + loss_psnt + loss_cd
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (i + 1) % 60 == 0:
            print('iteration %d G/loss_id %.4f G/loss_id_psnt %.4f G/loss_cd %.4f'
                  % (i + 1, loss_id.item(), loss_psnt.item(), loss_cd.item()))


if __name__ == '__main__':
    main()
