"""What only a screen says of the lab, and when it is painted; without Textual, so that tests read it as text.

answer, status, pages: sentences, which name actions rather than keys. demo, titles, run_list: what is listed.
placement, timeline, devices, race: rows and lanes of a picture. painter: when it is painted. keymap: a
person's keys. view_options: what they want drawn.
"""
