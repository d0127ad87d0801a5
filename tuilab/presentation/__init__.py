"""Text and data that only a screen needs, and the paint schedule. It does not use Textual, so that tests can
check it as text.

answer, status, pages: sentences, which name actions instead of keys. demo, titles, run_list: lists.
placement, timeline, devices, race: rows and lanes of a plot. painter: the paint schedule. keymap: the user's
keys. view_options: what to draw.
"""
