"""`tokentill prices publish` and `what-if` against the real application on a port of its own."""

import json
import threading
import time

import pytest
import uvicorn
from typer.testing import CliRunner

from pricing.scope import Role
from tests.pricing.api.conftest import BOOK, furnish, ledger_template, open_house
from tokentill import command_line

__all__ = ["ledger_template"]
DEARER = BOOK.replace('"2.00"', '"2.50"')


@pytest.fixture
def served(ledger_template, tmp_path, free_port):
    """A furnished house behind a port; run("publish", …) runs the command against it."""
    with open_house(ledger_template, tmp_path) as house:
        furnish(house)
        config = uvicorn.Config(house.client.app, port=free_port(), log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)

        def run(*words, key=house.operator, text=DEARER):
            (tmp_path / "list.toml").write_text(text)
            url = f"http://127.0.0.1:{config.port}"
            words = ["prices", words[0], str(tmp_path / "list.toml"), *words[1:], "--api-url", url]
            env = {"TOKENTILL_API_KEY": key}
            return CliRunner().invoke(command_line("prices"), words, env=env)

        run.house = house
        yield run
        server.should_exit = True
        thread.join()


def printed(result):
    """Lines of stdout, without the server's log: here it runs in the same process."""
    return [line for line in result.stdout.splitlines() if "request_answered" not in line]


def test_a_draft_is_kept_reviewed_and_published(served):
    """Each state is said on stdout; the review needs another key."""
    second = served.house.key(Role.FINANCE)
    assert printed(served("publish", "--state", "draft")) == ["draft"]
    refused = served("publish", "--state", "reviewed")
    assert (refused.exit_code, "second person" in refused.stderr) == (1, True)
    assert printed(served("publish", "--state", "reviewed", key=second)) == ["reviewed"]
    done = served("publish", "--wait-seconds", "0", "--json")
    assert json.loads(printed(done)[0])["finished"] is False
    assert "list-cny revision 2 is published." in done.stderr


def test_what_if_prints_the_difference_by_tenant_model_and_line(served):
    """By hand: 10 requests of 500,000 tokens, 2.00 → 2.50 per million: 10 → 12.5."""
    window = ("--start", "2026-10-01T00:00:00Z", "--end", "2026-10-02T00:00:00Z")
    tried = served("what-if", *window)
    assert "t-alder\tm-river\tinput\tCNY\t10\t12.5\t2.5" in tried.stdout.splitlines()
    assert "CNY: 110 before, 137.5 after, difference 27.5." in tried.stderr


def test_mistakes_are_printed_with_their_lines(served):
    """Exit 1; the line and what to do, and nothing on stdout."""
    refused = served("publish", text=BOOK.replace('cached_input = "0.20", ', ""))
    assert (refused.exit_code, printed(refused)) == (1, [])
    assert "list.toml: line 5, m-river: input has no cached_input" in refused.stderr


def test_without_a_server_it_says_what_to_set(tmp_path):
    """No address: exit 1 with the names of both variables."""
    (tmp_path / "list.toml").write_text(BOOK)
    words = ["prices", "publish", str(tmp_path / "list.toml")]
    refused = CliRunner().invoke(command_line("prices"), words)
    assert (refused.exit_code, "TOKENTILL_API_URL" in refused.stderr) == (1, True)
