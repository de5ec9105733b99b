import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
PAD, VOCAB = 0, 60


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)

    def forward(self, src):
        out, state = self.rnn(self.embed(src))
        return out, state


class Decoder(nn.Module):
    def __init__(self, enc_dim, dim):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.bridge = nn.Linear(enc_dim, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.query = nn.Linear(dim, enc_dim)
        self.out = nn.Linear(dim + enc_dim, VOCAB)

    def forward(self, prev_tokens, encoder_out):
        memory, (h, _) = encoder_out
        x, _ = self.rnn(self.embed(prev_tokens), torch.tanh(self.bridge(h)))
        attn = F.softmax(self.query(x) @ memory.transpose(1, 2), dim=-1)
        return self.out(torch.cat([x, attn @ memory], dim=-1))


class DualDecoderModel(nn.Module):
    def __init__(self, enc_dim=48, teacher_dim=48, student_dim=16):
        super().__init__()
        self.encoder = Encoder(enc_dim)
        self.teacher_decoder = Decoder(enc_dim, teacher_dim)
        self.student_decoder = Decoder(enc_dim, student_dim)

    def forward(self, src, prev_tokens):
        encoder_out = self.encoder(src)
        teacher_output = self.teacher_decoder(prev_tokens, encoder_out)
        student_output = self.student_decoder(prev_tokens, encoder_out)
        return teacher_output, student_output


class DualDecoderCriterion(nn.Module):
    def __init__(self, kd_weight=0.7):
        super().__init__()
        self.kd_weight = kd_weight

    def forward(self, teacher_output, student_output, target):
        mask = (target != PAD).float()
        teacher_nll = F.cross_entropy(teacher_output.transpose(1, 2), target, ignore_index=PAD)
        student_nll = F.cross_entropy(student_output.transpose(1, 2), target, ignore_index=PAD)
        teacher_probs = F.softmax(teacher_output, dim=-1)
        student_lprobs = F.log_softmax(student_output, dim=-1)
        kd = -(teacher_probs.detach() * student_lprobs).sum(dim=-1)
        kd_loss = (kd * mask).sum() / mask.sum()
        student_loss = (1 - self.kd_weight) * student_nll + self.kd_weight * kd_loss
        return teacher_nll + student_loss, teacher_nll, student_nll, kd_loss


def translation_batch(batch=32, length=9):
    src = torch.randint(2, VOCAB, (batch, length))
    target = torch.where(src % 2 == 0, src, VOCAB + 1 - src).flip(1)
    prev = torch.cat([torch.ones(batch, 1, dtype=torch.long), target[:, :-1]], dim=1)
    return src, prev, target


model = DualDecoderModel()
criterion = DualDecoderCriterion()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(40):
    src, prev, target = translation_batch()
    teacher_output, student_output = model(src, prev)
    loss, teacher_nll, student_nll, kd_loss = criterion(teacher_output, student_output, target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 10 == 0:
        print("step %d teacher %.3f student %.3f kd %.3f" % (step, teacher_nll.item(), student_nll.item(), kd_loss.item()))
