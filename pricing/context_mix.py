"""One throughput for a mix of contexts: the token-weighted harmonic mean (docs/formulas.md §2).

Throughputs in tokens per second, lengths in tokens, shares 0–1; exact where the inputs are.
"""

from collections.abc import Sequence
from fractions import Fraction

from pricing.formula import Exact


def equivalent_throughput(rates: Sequence[Exact], token_shares: Sequence[Exact]) -> Fraction:
    """T_eq = 1 / Σ(w_k / T_k) in tokens/s: a server that alone does T_k on class k.

    token_shares: share of the tokens in each class, summing to 1. An arithmetic mean overstates.
    """
    _require_whole(token_shares)
    if any(rate <= 0 for rate in rates):
        raise ValueError(f"each class needs a throughput above 0 tokens/s, got {list(rates)}")
    return 1 / sum(
        (Fraction(w) / Fraction(t) for t, w in zip(rates, token_shares, strict=True)), Fraction(0)
    )


def time_shares(rates: Sequence[Exact], token_shares: Sequence[Exact]) -> list[Fraction]:
    """Share of the server's time in each class: τ_k = T_eq · w_k / T_k; they sum to 1."""
    equivalent = equivalent_throughput(rates, token_shares)
    return [
        equivalent * Fraction(w) / Fraction(t) for t, w in zip(rates, token_shares, strict=True)
    ]


def token_shares(request_shares: Sequence[Exact], lengths: Sequence[Exact]) -> list[Fraction]:
    """Shares of tokens from shares (or counts) of requests and their lengths in tokens."""
    tokens = [Fraction(q) * Fraction(n) for q, n in zip(request_shares, lengths, strict=True)]
    whole = sum(tokens, Fraction(0))
    if whole == 0:
        raise ValueError("there are no tokens to take shares of")
    return [part / whole for part in tokens]


def mean_context(lengths: Sequence[Exact], token_shares: Sequence[Exact]) -> Fraction:
    """Token-weighted mean context L̄ = Σ w_k L_k in tokens, = E[L²]/E[L] over requests."""
    _require_whole(token_shares)
    return sum(
        (Fraction(w) * Fraction(n) for n, w in zip(lengths, token_shares, strict=True)),
        Fraction(0),
    )


def linear_throughput(
    seconds_per_token: Exact, seconds_per_token_and_context: Exact, context_tokens: Exact
) -> Fraction:
    """Tokens/s where a token takes a + b·L seconds in a context of L tokens: 1 / (a + b·L).

    Put the token-weighted mean context in; the mean over requests overstates.
    """
    return 1 / (
        Fraction(seconds_per_token)
        + Fraction(seconds_per_token_and_context) * Fraction(context_tokens)
    )


def slower_class_throughput(equivalent: Exact, faster: Exact, slower_share: Exact) -> Fraction:
    """Tokens/s of the slower of two classes, from the mix's `equivalent` and the `faster` rate.

    slower_share: its share of the tokens. Inverts `equivalent_throughput`.
    """
    share = Fraction(slower_share)
    return share / (1 / Fraction(equivalent) - (1 - share) / Fraction(faster))


def equivalence_ratio(
    slow: Sequence[Exact], fast: Sequence[Exact], token_shares: Sequence[Exact]
) -> Fraction:
    """e_mix: throughput of one hardware in units of another on the same mix, 0–1 for a slower one.

    The ratio of the two equivalent throughputs, not the mean of the ratios per class.
    """
    return equivalent_throughput(slow, token_shares) / equivalent_throughput(fast, token_shares)


def _require_whole(shares: Sequence[Exact]) -> None:
    whole = sum((Fraction(share) for share in shares), Fraction(0))
    if whole != 1 or any(share < 0 for share in shares):
        raise ValueError(f"token shares must be 0 or more and sum to 1, got {float(whole):g}")
