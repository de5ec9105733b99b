import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaModel

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

WORDS = ["<pad>", "<s>", "</s>", "summary", "above", "image", "sentence", "in", "one", "word",
         "a", "dog", "cat", "car", "runs", "sleeps", "drives", "red", "black", "street"]
IMAGE_TOKEN = "<image>"
NUM_PATCHES = 4

vocab = {word: i for i, word in enumerate(WORDS)}
image_token_index = len(vocab)
vocab[IMAGE_TOKEN] = image_token_index


class ImageTextEmbedder(nn.Module):
    def __init__(self, config, image_token_index, vision_dim=24):
        super().__init__()
        self.image_token_index = image_token_index
        self.vision = nn.Conv2d(3, vision_dim, kernel_size=16, stride=16)
        self.projector = nn.Linear(vision_dim, config.hidden_size)
        self.language_model = LlamaModel(config)

    def forward(self, input_ids, pixel_values=None):
        embeds = self.language_model.get_input_embeddings()(input_ids)
        if pixel_values is not None:
            patches = self.vision(pixel_values).flatten(2).transpose(1, 2)
            patches = self.projector(patches)
            mask = (input_ids == self.image_token_index).unsqueeze(-1)
            embeds = embeds.masked_scatter(mask, patches)
        out = self.language_model(inputs_embeds=embeds)
        return F.normalize(out.last_hidden_state[:, -1], dim=-1)


def encode(text):
    tokens = ["<s>"]
    for word in text.split():
        tokens.extend([word] * NUM_PATCHES if word == IMAGE_TOKEN else [word])
    return torch.tensor([vocab[t] for t in tokens])


def build_model():
    config = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = ImageTextEmbedder(config, image_token_index)
    return model.to(device).eval()


def main():
    torch.manual_seed(0)
    model = build_model()

    text_prompts = ["a dog runs summary above sentence in one word",
                    "a cat sleeps summary above sentence in one word",
                    "red car drives summary above sentence in one word"]
    image_prompt = "<image> summary above image in one word"

    text_ids = torch.stack([encode(p) for p in text_prompts]).to(device)
    image_ids = torch.stack([encode(image_prompt)] * 2).to(device)
    pixels = torch.randn(2, 3, 32, 32, device=device)

    with torch.no_grad():
        text_embeds = model(text_ids)
        image_embeds = model(image_ids, pixels)
    print("text:", tuple(text_embeds.shape), "image:", tuple(image_embeds.shape))
    print("similarity:")
    print(image_embeds @ text_embeds.t())


if __name__ == "__main__":
    main()
