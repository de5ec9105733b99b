import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RegistrationNet(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(2, ch, 3, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(ch, ch, 3, padding=1), nn.LeakyReLU(0.2),
        )
        self.flow = nn.Conv2d(ch, 2, 3, padding=1)

    def forward(self, moving, fixed):
        return 0.1 * torch.tanh(self.flow(self.enc(torch.cat([moving, fixed], dim=1))))


def warp(image, flow):
    b, _, h, w = image.shape
    theta = torch.eye(2, 3).unsqueeze(0).repeat(b, 1, 1)
    grid = F.affine_grid(theta, (b, 1, h, w), align_corners=True)
    return F.grid_sample(image, grid + flow.permute(0, 2, 3, 1), align_corners=True)


def ncc(a, b):
    a = a - a.mean(dim=(1, 2, 3), keepdim=True)
    b = b - b.mean(dim=(1, 2, 3), keepdim=True)
    return -((a * b).sum(dim=(1, 2, 3)) / (a.norm(dim=(2, 3)).squeeze(1) * b.norm(dim=(2, 3)).squeeze(1) + 1e-5)).mean()


def smooth(flow):
    dx = (flow[..., 1:] - flow[..., :-1]).abs().mean()
    dy = (flow[..., 1:, :] - flow[..., :-1, :]).abs().mean()
    return dx + dy


model = RegistrationNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
occ_weight, smo_weight = 0.01, 1.0

for step in range(10):
    baseline = torch.rand(4, 1, 32, 32)
    followup = torch.roll(baseline, 1, dims=3)
    flow_xy = model(baseline, followup)
    flow_yx = model(followup, baseline)

    diff_fw = (flow_xy + warp(flow_yx, flow_xy)).norm(dim=1, keepdim=True)
    diff_bw = (flow_yx + warp(flow_xy, flow_yx)).norm(dim=1, keepdim=True)
    smo_norm_diff_fw = F.avg_pool2d(diff_fw, 3, stride=1, padding=1)
    smo_norm_diff_bw = F.avg_pool2d(diff_bw, 3, stride=1, padding=1)
    thresh_fw = 1.2 * smo_norm_diff_fw.mean().detach()
    thresh_bw = 1.2 * smo_norm_diff_bw.mean().detach()

    occ_xy = (smo_norm_diff_fw > thresh_fw).float()
    occ_yx = (smo_norm_diff_bw > thresh_bw).float()
    mask_xy, mask_yx = 1 - occ_xy, 1 - occ_yx
    loss_ncc = ncc(warp(baseline, flow_xy) * mask_xy, followup * mask_xy) + ncc(warp(followup, flow_yx) * mask_yx, baseline * mask_yx)
    loss_occ = torch.mean(occ_xy) + torch.mean(occ_yx)
    loss_smooth = smooth(flow_xy) + smooth(flow_yx)

    loss = loss_ncc + occ_weight * loss_occ + smo_weight * loss_smooth
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step %d ncc %.4f occ %.4f smooth %.4f" % (step, loss_ncc.item(), loss_occ.item(), loss_smooth.item()))
