"""What AppTest runs: a book tried on today's window, for the key of the environment."""

import os
from datetime import UTC, datetime

from dashboard.bar import filter_bar, words_of_visitor
from dashboard.book_trial import book_trial
from dashboard.problems import explained
from dashboard.sign_in import reader_of_visitor, rights_of

words = words_of_visitor()
reader = reader_of_visitor(os.environ)
assert reader is not None
with explained(words):
    page = filter_bar(reader, rights_of(reader), words, now=datetime.now(UTC))
    book_trial(page, os.environ["BOOK"], key="test")
