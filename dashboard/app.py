"""What Streamlit runs, anew for each click; everything else is imported once."""

from dashboard.run import run

run()
