"""Finds text by the words in it, for every search field and `tuilab presets WORDS`."""


def contains(text: str, words: str) -> bool:
    """Whether the text contains each of the words, in upper or lower case."""
    folded = text.casefold()
    return all(word in folded for word in words.casefold().split())
