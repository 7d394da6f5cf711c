"""What comes into the store from elsewhere. ``ledger``: attempts in a CSV file, which are never ranked."""
