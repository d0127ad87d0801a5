"""Child processes that the tests start."""

import sys


def echo(pipe, settings):
    """Answer each message with the message itself and the settings. Also print text that is not an answer.
    Exit on request.
    """
    while True:
        message = pipe.take()
        print("this goes to the log", flush=True)
        if message.get("leave"):
            sys.exit(3)
        pipe.send({**settings, **message})
