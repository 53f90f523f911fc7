"""Docs: what a person can type, set, call or decide is written down; what is written works."""

import re
import shlex
from collections.abc import Iterator

import typer.main
from typer.core import TyperCommand, TyperGroup

import tokentill
from tests.house.tree import FILES, ROOT, SOURCES, require_none

Command = TyperCommand | TyperGroup

PAGES = tuple(p for p in FILES if p.endswith(".md") and p.startswith(("docs/", "README")))
TEXT = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
ALL_TEXT = "\n".join(TEXT.values())
ROOT_COMMAND = typer.main.get_command(tokentill.command_line())


def commands(command: Command, words: tuple[str, ...]) -> Iterator[tuple[str, Command]]:
    """(full name, command) of every leaf below `command`."""
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from commands(child, (*words, name))
    else:
        yield " ".join(words), command


def groups(command: Command, words: tuple[str, ...]) -> Iterator[tuple[str, Command]]:
    """(full name, group) of `command` and every group below it."""
    if isinstance(command, TyperGroup):
        yield " ".join(words), command
        for name, child in command.commands.items():
            yield from groups(child, (*words, name))


COMMANDS = dict(commands(ROOT_COMMAND, ("tokentill",)))
GROUPS = dict(groups(ROOT_COMMAND, ("tokentill",)))


def test_every_command_is_in_the_docs() -> None:
    """A person who reads the docs meets every command."""
    offences = [name for name in COMMANDS if name not in ALL_TEXT]
    require_none(offences, "Add the command, with an example, to docs/commands.md:")


def test_every_command_shows_an_example() -> None:
    """`--help` ends the search for how to write it."""
    offences = [
        name
        for name, command in (COMMANDS | GROUPS).items()
        if name not in f"{command.help or ''}{command.epilog or ''}"
    ]
    require_none(offences, "Put an example line, beginning with the command's name, in its help:")


def examples() -> Iterator[tuple[str, list[str]]]:
    """(place, words) of each `tokentill …` line in the fenced blocks of the docs."""
    for page, text in TEXT.items():
        for block in re.findall(
            r"^```(?:bash|sh|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE
        ):
            for line in block.replace("\\\n", " ").splitlines():
                if line.removeprefix("$ ").startswith("tokentill "):
                    yield (
                        f"{page}: {line.strip()}",
                        shlex.split(line.removeprefix("$ "), comments=True),
                    )


def fault(words: list[str]) -> str | None:
    """What is wrong with the command line `words`, or None."""
    command = ROOT_COMMAND
    for word in words[1:]:
        if not isinstance(command, TyperGroup):
            break
        if word not in command.commands:
            return f"no command {word!r}"
        command = command.commands[word]
    known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    return f"no option {', '.join(sorted(given - known))}" if given - known else None


def test_the_commands_of_the_docs_exist() -> None:
    """Every command line shown names a command and options that there are."""
    offences = [f"{place} ({wrong})" for place, words in examples() if (wrong := fault(words))]
    require_none(offences, "Correct the example, or the command:")


def test_links_lead_somewhere() -> None:
    """Relative links of the docs point at files of the project."""
    offences = [
        f"{page} → {target}"
        for page, text in TEXT.items()
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
        if "://" not in target and not (ROOT / page).parent.joinpath(target).exists()
    ]
    require_none(offences, "Mend or remove the link:")


def test_named_files_exist() -> None:
    """A path of ours in a page, such as `metering/usage.py`, is a file of ours."""
    offences = [
        f"{page}: {path}"
        for page, text in TEXT.items()
        for path in re.findall(
            r"`((?:metering|pricing|dashboard|tests|bench|migrations)/[\w./-]+)`", text
        )
        if not (ROOT / path).exists()
    ]
    require_none(offences, "The file has moved or never was; correct the page:")


def test_pages_named_in_the_code_exist() -> None:
    """An error that sends a person to a page sends them to one that is there."""
    offences = [
        f"{source.path}: {page}"
        for source in SOURCES
        for page in re.findall(r"(?<!'s )docs/[\w./-]+\.\w+", source.text)
        if not (ROOT / page).exists()
    ]
    require_none(offences, "Write the page, or name the right one:")


def test_every_decision_is_in_the_index() -> None:
    """docs/decisions/README.md names each record, and no two share a number."""
    records = [p for p in PAGES if re.match(r"docs/decisions/\d{4}-", p)]
    index = TEXT.get("docs/decisions/README.md", "")
    offences = [p for p in records if p.removeprefix("docs/decisions/") not in index]
    numbers = [p.removeprefix("docs/decisions/")[:4] for p in records]
    offences += [f"number {n} twice" for n in set(numbers) if numbers.count(n) > 1]
    require_none(offences, "Add the record to the table of docs/decisions/README.md:")


def test_every_page_is_reachable() -> None:
    """Some page links to each page; a page that nobody finds is not documentation."""
    linked = {
        (ROOT / page).parent.joinpath(target).resolve()
        for page, text in TEXT.items()
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
        if "://" not in target
    }
    offences = [p for p in PAGES if p != "README.md" and (ROOT / p).resolve() not in linked]
    require_none(offences, "Link to the page from docs/index.md or README.md:")


def test_a_command_is_found_under_its_own_name() -> None:
    """Only the module that is listed for a name is loaded: it must be the one that has it."""
    offences = [
        name
        for name in tokentill.installed()
        if name not in typer.main.get_command(tokentill.command_line(name)).commands
    ]
    require_none(offences, "Correct the module of the command in COMMANDS of its package's cli.py:")
    assert {words.split()[1] for words in COMMANDS} == set(tokentill.installed())
