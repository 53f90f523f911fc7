"""A choice in the URL: by its name, whatever language the page speaks."""

import pytest


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_link_means_the_same_in_every_language(show, house, language):
    """show=tokens chooses tokens; in one's own words it is a label of the page."""
    test = show(house, "overview", window="today", lang=language, show="tokens")
    assert test.session_state["show"] == "tokens"
    slo = show(house, "slo", window="today", lang=language, measure="e2e", by="node")
    assert (slo.session_state["measure"], slo.session_state["by"]) == ("e2e", "node")


def test_what_is_no_choice_is_the_first_one(show, house):
    """A word that no page knows, and a label of another language."""
    for word in ("nonsense", "Token"):
        assert show(house, "overview", window="today", show=word).session_state["show"] == "money"


def test_a_choice_stands_in_the_address_and_the_first_one_does_not(show, house):
    """Chosen by a click, then taken back."""
    test = show(house, "slo", window="today")
    assert "measure" not in test.query_params
    test.selectbox(key="measure").select("queue").run()
    assert test.query_params["measure"] == "queue"
    test.selectbox(key="measure").select("ttft").run()
    assert "measure" not in test.query_params


def test_several_choices_stand_in_one_word_each(show, house):
    """The records told apart by hour and model."""
    test = show(house, "quality", window="today", apart="model hour")
    assert not test.exception
    assert test.session_state["apart"] == ["hour", "model"]
    assert test.query_params["apart"] == "hour model"
