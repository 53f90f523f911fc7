"""Makes a chat model with random weights: one token for each ASCII character. Usage: FOLDER.

Runs in an engine's environment. A prompt's tokens can therefore be counted by hand: its characters,
and one for each mark of the chat template.
"""

import string
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
SPELLED = {" ": "Ġ", "\n": "Ċ"}  # as the byte-level pre-tokenizer writes them
LENGTH = 32_768  # tokens: long enough that a client can leave before the end
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make(folder: str) -> None:
    """Write tokenizer and weights; the same every time."""
    letters = [SPELLED.get(c, c) for c in string.printable[:95] + "\n"]
    vocabulary = {token: number for number, token in enumerate([*MARKS, *letters])}
    characters = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    characters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    characters.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=characters,
        eos_token=MARKS[2],
        pad_token=MARKS[0],
        additional_special_tokens=MARKS,
        model_max_length=LENGTH,
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=LENGTH,
        initializer_range=0.2,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    Qwen2ForCausalLM(config).to(torch.float32).save_pretrained(folder)


if __name__ == "__main__":
    make(sys.argv[1])
