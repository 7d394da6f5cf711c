"""The script that Streamlit compiles and runs for every visit: as little as there can be of it."""

from leaderboard.visit import main

if __name__ == "__main__":
    main()
