"""Writes one line per finished vLLM request (plugins/vllm/README.md)."""
