"""The compiled loops of testing exchangeability."""
