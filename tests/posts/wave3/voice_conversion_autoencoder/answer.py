import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(94)


class Utterances(Dataset):
    """Crops of 128 mel frames with the embedding of the speaker."""

    def __init__(self, speakers=10, dim_emb=64):
        self.emb = F.normalize(torch.randn(speakers, dim_emb), dim=1)
        self.mel = torch.rand(speakers, 180, 80)

    def __len__(self):
        return len(self.emb)

    def __getitem__(self, i):
        left = int(torch.randint(0, 52, (1,)))
        return self.mel[i, left:left + 128], self.emb[i]


class Generator(nn.Module):
    def __init__(self, dim_neck=16, dim_emb=64, freq=16):
        super().__init__()
        self.freq, self.dim_neck = freq, dim_neck
        self.enc_conv = nn.Sequential(nn.Conv1d(80 + dim_emb, 128, 5, padding=2), nn.BatchNorm1d(128), nn.ReLU())
        self.enc_lstm = nn.LSTM(128, dim_neck, 1, batch_first=True, bidirectional=True)
        self.dec_lstm = nn.LSTM(2 * dim_neck + dim_emb, 128, 1, batch_first=True)
        self.dec_out = nn.Linear(128, 80)
        self.postnet = nn.Sequential(nn.Conv1d(80, 128, 5, padding=2), nn.Tanh(), nn.Conv1d(128, 80, 5, padding=2))

    def encode(self, x, c_org):
        c = c_org.unsqueeze(-1).expand(-1, -1, x.size(1))
        out, _ = self.enc_lstm(self.enc_conv(torch.cat((x.transpose(1, 2), c), dim=1)).transpose(1, 2))
        fwd = out[:, self.freq - 1::self.freq, :self.dim_neck]
        bwd = out[:, ::self.freq, self.dim_neck:]
        return torch.cat((fwd, bwd), dim=-1)

    def forward(self, x, c_org, c_trg):
        codes = self.encode(x, c_org)
        if c_trg is None:
            return codes.flatten(1)
        up = codes.repeat_interleave(self.freq, dim=1)
        dec, _ = self.dec_lstm(torch.cat((up, c_trg.unsqueeze(1).expand(-1, up.size(1), -1)), dim=-1))
        mel = self.dec_out(dec)
        mel_psnt = mel + self.postnet(mel.transpose(2, 1)).transpose(2, 1)
        return mel.unsqueeze(1), mel_psnt.unsqueeze(1), codes.flatten(1)


G = Generator()
g_optimizer = torch.optim.Adam(G.parameters(), 0.0001)
for epoch in range(2):
    for x_real, emb_org in DataLoader(Utterances(), batch_size=4, shuffle=True):
        x_identic, x_identic_psnt, code_real = G(x_real, emb_org, emb_org)
        g_loss_id = F.mse_loss(x_real, x_identic.squeeze(1))
        g_loss_id_psnt = F.mse_loss(x_real, x_identic_psnt.squeeze(1))
        code_reconst = G(x_identic_psnt.squeeze(1), emb_org, None)
        g_loss_cd = F.l1_loss(code_real, code_reconst)
        g_loss = g_loss_id + g_loss_id_psnt + g_loss_cd
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
    print('epoch %d id %.4f psnt %.4f cd %.4f' % (epoch, g_loss_id.item(), g_loss_id_psnt.item(), g_loss_cd.item()))
