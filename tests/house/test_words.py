"""Words: the product speaks about itself, not about how it came to be."""

import re

from tests.house.tree import FILES, ROOT, require_none

# "session" and "agent" are words of the trade (database sessions, coding-agent traces);
# these phrases are not.
PROCESS_TALK = re.compile(
    r"\b(?:next|previous|later|earlier|future|another|this work|my) session\b"
    r"|\b(?:AI|LLM|coding) (?:assistant|helper)\b"
    r"|\bhelper (?:agent|session)\b|\bsub-?agent (?:wrote|did|report)"
    r"|\b(?:the|our) (?:lead|brief|task|house worker)(?:'s)? (?:says?|asks?|wants?|pricing|worker)"
    r"|\bas (?:instructed|requested) (?:by|in) (?:the )?(?:brief|issue|task|prompt)"
    r"|\bbrief\.md\b|\bissue \d+ (?:says|asks|of the)\b",
    re.IGNORECASE,
)
FOG = re.compile(
    r"\b(?:blazing(?:ly)?|cutting.edge|world.class|seamless(?:ly)?|effortless(?:ly)?|next.gen"
    r"|revolutionary|game.chang\w+|robust and scalable|enterprise.grade|state.of.the.art)\b",
    re.IGNORECASE,
)
TEXTS = tuple(
    path
    for path in FILES
    if path.endswith((".py", ".md", ".sql", ".toml", ".yml"))
    and not path.startswith("tests/house/")
)


def found(pattern: re.Pattern[str], paths: tuple[str, ...]) -> list[str]:
    """`path:line: phrase` for every place where `pattern` stands."""
    return [
        f"{path}:{number}: {match.group()}"
        for path in paths
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if (match := pattern.search(line))
    ]


def test_no_talk_of_the_making() -> None:
    """A reader in five years needs the reason, not who was asked to type it."""
    require_none(found(PROCESS_TALK, TEXTS), "Say the reason itself:")


def test_no_fog() -> None:
    """A claim is a number with its source, or it is left out."""
    require_none(found(FOG, TEXTS), "Say what it does, in numbers:")
