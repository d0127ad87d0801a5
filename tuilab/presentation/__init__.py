"""Text and data for the screens, and the paint schedule.

answer, status and pages write sentences that name actions, not keys. demo, titles and run_list hold lists;
placement, timeline, devices and race hold the rows and lanes of plots. painter schedules paints, keymap
reads the user's keys, view_options holds the parts to draw. Nothing here uses Textual, so tests can check the
text directly.
"""
