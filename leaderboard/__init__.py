"""The leaderboard: read-only Streamlit pages over the store. Start with ``python -m leaderboard``."""
