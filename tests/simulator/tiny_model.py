"""Writes a language model of random weights: it speaks nonsense, and llama.cpp serves it.

python -m tests.simulator.tiny_model FILE.gguf     (needs the packages `gguf` and `numpy`)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_WIDTH, _HEADS, _LAYERS, _FEED_FORWARD = 64, 4, 2, 128
_CONTEXT = 32_768
_UNKNOWN, _CONTROL, _BYTE = 2, 3, 6
# Tool calls between tags, as several families of open models write them.
_CHAT_TEMPLATE = """
{%- if tools %}{{ '<s>system\\nYou may call these tools:\\n<tools>' }}
{%- for tool in tools %}{{ '\\n' + (tool | tojson) }}{% endfor %}
{{- '\\n</tools>\\nCall one with <tool_call>\\n{"name": …, "arguments": …}\\n</tool_call></s>\\n' }}
{%- endif %}
{%- for message in messages %}
{{- '<s>' + (message.role if message.role != 'tool' else 'user') + '\\n' }}
{%- if message.role == 'tool' %}
{{- '<tool_response>\\n' + message.content + '\\n</tool_response>' }}
{%- elif message.content %}{{- message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- (call.function.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '</s>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<s>assistant\\n' }}{% endif %}"""


def write_tiny_model(path: Path, seed: int = 0) -> None:
    import gguf  # type: ignore[import-not-found, unused-ignore]
    import numpy  # type: ignore[import-not-found, unused-ignore]

    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256]
    writer: Any = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_FEED_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_vocab_size(len(pieces))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores([0.0] * len(pieces))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(_CHAT_TEMPLATE)

    random = numpy.random.default_rng(seed)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, (random.standard_normal(shape) * 0.2).astype(numpy.float32))

    def add_ones(name: str) -> None:
        writer.add_tensor(name, numpy.ones(_WIDTH, dtype=numpy.float32))

    add("token_embd.weight", len(pieces), _WIDTH)
    add("output.weight", len(pieces), _WIDTH)
    add_ones("output_norm.weight")
    for layer in range(_LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{part}.weight", _WIDTH, _WIDTH)
        add(f"blk.{layer}.ffn_gate.weight", _FEED_FORWARD, _WIDTH)
        add(f"blk.{layer}.ffn_up.weight", _FEED_FORWARD, _WIDTH)
        add(f"blk.{layer}.ffn_down.weight", _WIDTH, _FEED_FORWARD)
        add_ones(f"blk.{layer}.attn_norm.weight")
        add_ones(f"blk.{layer}.ffn_norm.weight")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write_tiny_model(Path(sys.argv[1]))
