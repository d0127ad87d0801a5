"""Finds text by the words in it, for every search field and `tuilab presets WORDS`."""


def contains(text: str, words: str) -> bool:
    """Return True if the text contains each of the words, ignoring case."""
    folded = text.casefold()
    return all(word in folded for word in words.casefold().split())
