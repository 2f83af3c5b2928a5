"""Writes a tiny language model that llama.cpp serves: it calls a tool, and says "a".

python -m tests.simulator.tiny_model FILE.gguf     (needs the packages `gguf` and `numpy`)

The weights are random but for what makes it end: attention and feed-forward layers are zero, so the
next token depends on the last one alone. It prefers to open a tool call, to keep strings short and
to close what is open; llama.cpp's grammar of the tools' schemas does the rest.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_WIDTH, _HEADS, _LAYERS, _FEED_FORWARD = 264, 4, 1, 32
_CONTEXT = 32_768
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_OPEN, _CLOSE, _END = "<tool_call>\n", "</tool_call>", "</s>"
_SPACE = "\u2581"
"""As this kind of tokenizer writes it."""
_PIECES = ["<unk>", "<s>", _END, *(f"<0x{byte:02X}>" for byte in range(256)), _OPEN, _CLOSE, _SPACE]
_KINDS = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256, *[_NORMAL] * 3]
# Tool calls between tags, as several families of open models write them.
_CHAT_TEMPLATE = """
{%- if tools %}{{ '### system\\nYou may call these tools:\\n<tools>' }}
{%- for tool in tools %}{{ '\\n' + (tool | tojson) }}{% endfor %}
{{- '\\n</tools>\\nCall one with <tool_call>\\n{"name": …, "arguments": …}\\n</tool_call>\\n\\n' }}
{%- endif %}
{%- for message in messages %}
{{- '### ' + (message.role if message.role != 'tool' else 'user') + '\\n' }}
{%- if message.role == 'tool' %}
{{- '<tool_response>\\n' + message.content + '\\n</tool_response>' }}
{%- elif message.content %}{{- message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- (call.function.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '\\n\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '### assistant\\n' }}{% endif %}"""


def write_tiny_model(path: Path, seed: int = 0) -> None:
    import gguf  # type: ignore[import-not-found, unused-ignore]
    import numpy  # type: ignore[import-not-found, unused-ignore]

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
    writer.add_vocab_size(len(_PIECES))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(_PIECES)
    writer.add_token_scores([0.0] * len(_PIECES))
    writer.add_token_types(_KINDS)
    writer.add_add_space_prefix(False)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(_CHAT_TEMPLATE)

    def add(name: str, *shape: int, value: float = 0.0) -> None:
        writer.add_tensor(name, numpy.full(shape, value, dtype=numpy.float32))

    embedding = numpy.eye(len(_PIECES), _WIDTH, dtype=numpy.float32)
    logits = numpy.random.default_rng(seed).standard_normal((len(_PIECES), _WIDTH)) * 0.01
    for piece, preference in {_OPEN: 9.0, "]": 8.0, "}": 7.0, '"': 6.0, ",": 5.0}.items():
        logits[_token(piece)] += preference
    # A string is one letter long, and a call is the last thing it says.
    logits[_token("a"), _token('"')] += 20.0
    logits[_token('"'), _token("a")] += 20.0
    logits[_token(_CLOSE), _token("}")] += 20.0
    logits[_token(_END), _token(_CLOSE)] += 40.0
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", logits.astype(numpy.float32))
    add("output_norm.weight", _WIDTH, value=1.0)
    for layer in range(_LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{part}.weight", _WIDTH, _WIDTH)
        add(f"blk.{layer}.ffn_gate.weight", _FEED_FORWARD, _WIDTH)
        add(f"blk.{layer}.ffn_up.weight", _FEED_FORWARD, _WIDTH)
        add(f"blk.{layer}.ffn_down.weight", _WIDTH, _FEED_FORWARD)
        add(f"blk.{layer}.attn_norm.weight", _WIDTH, value=1.0)
        add(f"blk.{layer}.ffn_norm.weight", _WIDTH, value=1.0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _token(piece: str) -> int:
    return _PIECES.index(piece if piece in _PIECES else f"<0x{ord(piece):02X}>")


if __name__ == "__main__":
    write_tiny_model(Path(sys.argv[1]))
