import argparse

import torch
import torch.nn as nn
from torch.nn.functional import dropout2d
from torch.utils.data import DataLoader, Dataset


def get_inference_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument('-dst', dest='dst', default='/data/saliency', help='where the saliency maps are saved')
    parser.add_argument('-clip_length', dest='clip_length', default=5, type=int)
    parser.add_argument('-alpha', dest='alpha', default=0.1, type=float, help='weight of the current frame in the EMA')
    parser.add_argument('-ema_loc', dest='ema_loc', default=6, type=int, help='block that is followed by the EMA')
    parser.add_argument('-dropout', dest='dropout', default=False, type=bool,
                        help='False for inference.')
    return parser


class VideoClips(Dataset):
    def __init__(self, n_videos=2, n_frames=10, clip_length=5):
        self.n_videos, self.n_frames, self.clip_length = n_videos, n_frames, clip_length

    def __len__(self):
        return self.n_videos

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        frames = torch.rand(self.n_frames, 3, 96, 128, generator=g) - 0.45
        return list(frames.split(self.clip_length))


def conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.ReLU(inplace=True))


class SalEMA(nn.Module):
    """VGG encoder and its mirror; the features of one block are averaged over time"""

    def __init__(self, alpha, ema_loc, dropout):
        super().__init__()
        self.alpha, self.ema_loc, self.dropout = alpha, ema_loc, dropout
        pool, up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2, mode='nearest')
        self.blocks = nn.ModuleList([
            nn.Sequential(conv(3, 32), conv(32, 32)),
            nn.Sequential(pool, conv(32, 64), conv(64, 64)),
            nn.Sequential(pool, conv(64, 128), conv(128, 128)),
            nn.Sequential(pool, conv(128, 256), conv(256, 256)),
            nn.Sequential(conv(256, 256), up),
            nn.Sequential(conv(256, 128), conv(128, 128), up),
            nn.Sequential(conv(128, 64), conv(64, 64), up),
            nn.Sequential(conv(64, 32), conv(32, 32))])
        self.head = nn.Sequential(nn.Conv2d(32, 1, 1), nn.Sigmoid())

    def forward(self, x, prev_state=None):
        state = None
        for i, block in enumerate(self.blocks):
            x = block(x)
            if i == self.ema_loc:
                if self.dropout is True:
                    x = dropout2d(x)
                if prev_state is not None:
                    x = self.alpha * x + (1 - self.alpha) * prev_state
                state = x
        return state, self.head(x)


def main(args):
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    torch.manual_seed(0)
    model = SalEMA(args.alpha, args.ema_loc, args.dropout).to(device)
    # pretrained weights would be loaded here
    model.eval()
    loader = DataLoader(VideoClips(clip_length=args.clip_length), batch_size=1)
    with torch.no_grad():
        for i, video in enumerate(loader):
            state, count = None, 0
            for clip in video:
                for frame in clip[0].to(device):
                    state, saliency_map = model(frame.unsqueeze(0), state)
                    saliency_map = saliency_map.squeeze()
                    post = (saliency_map - saliency_map.min()) / (saliency_map.max() - saliency_map.min())
                    count += 1
            print('video %d: %d maps for %s, mean of the last %.4f' % (i, count, args.dst, post.mean()))


if __name__ == '__main__':
    main(get_inference_parser().parse_args())
