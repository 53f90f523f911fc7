"""Usage blocks of response bodies, in the dialects that engines and gateways speak.

A block says how many tokens a response cost; where the whole input, the cached part and the written
part of it stand differs by dialect. A missing member and null both mean unknown, 0 means 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from metering.errors import UsageInvalid
from metering.identity import bounded
from metering.sources.record import checked_count, shown

_CLASSES: Final = ("image", "audio", "video")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one response. Every count is None where the block is silent.

    input_tokens: the whole input; cached, explicit and written tokens are parts of it.
    """

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    input_by_class: Mapping[str, int] | None = None
    service_tier: str | None = None


def read_usage_block(block: object) -> Usage | None:
    """The usage that a block states; None for null.

    Understands OpenAI chat and completions (SGLang, vLLM, DeepSeek, Moonshot, Mistral, OpenRouter),
    OpenAI responses, Anthropic messages, Bedrock converse and Gemini. Raises UsageInvalid for a
    block of none of these, and for counts that are no counts.
    """
    if block is None:
        return None
    if not isinstance(block, Mapping):
        raise UsageInvalid("usage", f"expected an object, got {type(block).__name__}")
    for mark, read in _DIALECTS:
        if mark in block:
            return read(block)
    raise UsageInvalid("usage", f"unknown dialect, with the keys {shown(sorted(map(str, block)))}")


def _chat(block: Mapping[str, Any]) -> Usage:
    """Dialect of OpenAI's chat and completions: the prompt includes what was cached or written."""
    prompt = _object(block, "prompt_tokens_details")
    completion = _object(block, "completion_tokens_details")
    cached = _first(
        _count(prompt, "cached_tokens", "prompt_tokens_details."),
        _count(block, "prompt_cache_hit_tokens"),  # DeepSeek
        _count(block, "cached_tokens"),  # Moonshot
        _count(block, "num_cached_tokens"),  # Mistral
        _count(block, "cache_read_input_tokens"),  # LiteLLM's form of Anthropic
    )
    written = _first(
        _count(prompt, "cache_write_tokens", "prompt_tokens_details."),  # OpenRouter
        _count(block, "cache_creation_input_tokens"),
    )
    reasoning = _first(
        _count(completion, "reasoning_tokens", "completion_tokens_details."),
        _count(block, "reasoning_tokens"),  # SGLang
    )
    return Usage(
        input_tokens=_count(block, "prompt_tokens"),
        cached_input_tokens=cached,
        cache_write_tokens=written,
        output_tokens=_count(block, "completion_tokens"),
        reasoning_tokens=reasoning,
        input_by_class=_classes(prompt),
        service_tier=_text(block, "service_tier"),
    )


def _messages(block: Mapping[str, Any]) -> Usage:
    """Anthropic: input_tokens is what was neither read from a cache nor written to one."""
    if "input_tokens_details" in block or "total_tokens" in block:
        return _responses(block)
    cached = _count(block, "cache_read_input_tokens")
    written = _count(block, "cache_creation_input_tokens")
    creation = _object(block, "cache_creation")
    output = _object(block, "output_tokens_details")
    return Usage(
        input_tokens=_sum(_count(block, "input_tokens"), cached, written),
        cached_input_tokens=cached,
        cache_write_tokens=written,
        cache_write_1h_tokens=_count(creation, "ephemeral_1h_input_tokens", "cache_creation."),
        output_tokens=_count(block, "output_tokens"),
        reasoning_tokens=_count(output, "thinking_tokens", "output_tokens_details."),
        service_tier=_text(block, "service_tier"),
    )


def _responses(block: Mapping[str, Any]) -> Usage:
    """OpenAI responses: like chat, with other names."""
    read = _object(block, "input_tokens_details")
    written = _object(block, "output_tokens_details")
    return Usage(
        input_tokens=_count(block, "input_tokens"),
        cached_input_tokens=_count(read, "cached_tokens", "input_tokens_details."),
        cache_write_tokens=_count(read, "cache_write_tokens", "input_tokens_details."),
        output_tokens=_count(block, "output_tokens"),
        reasoning_tokens=_count(written, "reasoning_tokens", "output_tokens_details."),
        service_tier=_text(block, "service_tier"),
    )


def _converse(block: Mapping[str, Any]) -> Usage:
    """Bedrock converse: input is what was neither read from a cache nor written to one."""
    cached = _first(
        _count(block, "cacheReadInputTokens"), _count(block, "cacheReadInputTokenCount")
    )
    written = _first(
        _count(block, "cacheWriteInputTokens"), _count(block, "cacheWriteInputTokenCount")
    )
    return Usage(
        input_tokens=_sum(_count(block, "inputTokens"), cached, written),
        cached_input_tokens=cached,
        cache_write_tokens=written,
        output_tokens=_count(block, "outputTokens"),
    )


def _gemini(block: Mapping[str, Any]) -> Usage:
    """Gemini: thoughts are output beside the candidates, tool results input beside the prompt."""
    prompt = _count(block, "promptTokenCount")
    thoughts = _count(block, "thoughtsTokenCount")
    candidates = _count(block, "candidatesTokenCount")
    return Usage(
        input_tokens=_sum(prompt, _count(block, "toolUsePromptTokenCount")),
        cached_input_tokens=_count(block, "cachedContentTokenCount"),
        output_tokens=thoughts if candidates is None else _sum(candidates, thoughts),
        reasoning_tokens=thoughts,
    )


_DIALECTS: Final = (
    ("prompt_tokens", _chat),
    ("completion_tokens", _chat),
    ("input_tokens", _messages),
    ("output_tokens", _messages),
    ("inputTokens", _converse),
    ("promptTokenCount", _gemini),
)


def _count(block: Mapping[str, Any], name: str, path: str = "") -> int | None:
    return checked_count(path + name, block.get(name))


def _object(block: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = block.get(name)
    return value if isinstance(value, Mapping) else {}


def _text(block: Mapping[str, Any], name: str) -> str | None:
    value = block.get(name)
    return bounded(value) if isinstance(value, str) and value else None


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _sum(whole: int | None, *parts: int | None) -> int | None:
    """The sum of the parts that are stated; unknown without the first."""
    return None if whole is None else checked_count("usage", whole + sum(p or 0 for p in parts))


def _classes(details: Mapping[str, Any]) -> dict[str, int] | None:
    stated = {
        name: _count(details, f"{name}_tokens", "prompt_tokens_details.") for name in _CLASSES
    }
    return {name: tokens for name, tokens in stated.items() if tokens is not None} or None
