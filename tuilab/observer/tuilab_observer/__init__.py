"""Observes TensorFlow in the program that Python is about to run, without changing the program.

The package runs in the program's own Python (3.9 or later). It needs the standard library and, once the
program has imported it, the program's own TensorFlow (2.16 or later). Messages are sent through a Unix
socket. A frame is 4 bytes for the length of a JSON object, 4 bytes for the length of the attachment, the
object, and the attachment. If the observer fails, it reports the failure to tuilab, prints nothing and
stops. Times are seconds of `time.perf_counter` in this process.
"""
