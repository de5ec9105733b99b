import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
torch.manual_seed(42)


class GradientReversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.alpha * grad, None


class PillarDetector(nn.Module):
    def __init__(self, in_ch=10, feat=64, anchors=2):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(in_ch, feat, 3, stride=2, padding=1), nn.BatchNorm2d(feat), nn.ReLU(),
            nn.Conv2d(feat, feat, 3, stride=2, padding=1), nn.BatchNorm2d(feat), nn.ReLU())
        self.cls_head = nn.Conv2d(feat, anchors, 1)
        self.reg_head = nn.Conv2d(feat, 7 * anchors, 1)

    def forward(self, batch):
        feature = self.backbone(batch['voxels'])
        return {'psm': self.cls_head(feature), 'rm': self.reg_head(feature), 'feature': feature}


class DAModule(nn.Module):
    def __init__(self, feat=64):
        super().__init__()
        self.conv1 = nn.Conv2d(feat, 32, 1)
        self.conv2 = nn.Conv2d(32, 1, 1)

    def forward(self, output):
        x = GradientReversal.apply(output['feature'], 0.1)
        x = F.relu(self.conv1(x))
        return self.conv2(x).mean(dim=(1, 2, 3))


def batches(n=3, per_domain=2):
    for _ in range(n):
        voxels = torch.rand(2 * per_domain, 10, 64, 96)
        target = (torch.rand(2 * per_domain, 2, 16, 24) > 0.95).float()
        domain = torch.cat([torch.zeros(per_domain), torch.ones(per_domain)])
        yield {'voxels': voxels.to(device), 'target': target.to(device), 'domain': domain.to(device)}


model = PillarDetector().to(device)
da_module = DAModule().to(device)
optimizer = torch.optim.Adam(list(model.parameters()) + list(da_module.parameters()), lr=1e-3)
scaler = torch.amp.GradScaler(device.type, enabled=device.type == 'cuda')

for epoch in range(2):
    for i, batch in enumerate(batches()):
        optimizer.zero_grad()
        with torch.autocast(device_type=device.type):
            output_dict = model(batch)
            det_loss = F.binary_cross_entropy_with_logits(output_dict['psm'].float(), batch['target'])
        domain_logit = da_module(output_dict)
        da_loss = F.binary_cross_entropy_with_logits(domain_logit, batch['domain'])
        final_loss = det_loss + 0.1 * da_loss
        scaler.scale(final_loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print('[epoch %d][%d] det %.4f da %.4f' % (epoch, i, det_loss.item(), da_loss.item()))
