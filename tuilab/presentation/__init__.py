"""Text and data that only a screen needs, and the paint schedule. This package does not use Textual, so that
tests can check the text directly.

answer, status, pages: sentences. They name actions instead of keys. demo, titles, run_list: lists.
placement, timeline, devices, race: rows and lanes of a plot. painter: the paint schedule. keymap: the user's
keys. view_options: what to draw.
"""
