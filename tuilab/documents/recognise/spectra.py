"""Recognizes STFT, FFT and the filters before them."""

from collections.abc import Iterator

from tuilab.documents.example import Example, ancestry
from tuilab.documents.interpreter.trace import TraceEvent
from tuilab.documents.interpreter.values import NONE, Api, Known, Tensor, Value, elements, integer, truth
from tuilab.documents.recognise.found import Found, Gap, Result, placed, reason
from tuilab.documents.words import words
from tuilab.model.parameters import Value as Setting

FILTERS = words(
    "tf.signal.lfilter tf.nn.conv1d tf.nn.convolution scipy.signal.lfilter scipy.signal.filtfilt",
    "scipy.signal.fftconvolve np.convolve",
)
_WINDOWS = {"tf.signal.hann_window": "hann", "tf.signal.hamming_window": "hamming"}
_REAL = ("tf.signal.rfft",)
_COMPLEX = ("tf.signal.fft", "tf.signal.ifft", "tf.signal.fft2d", "tf.signal.irfft", "tf.signal.fft3d")


def spectra(example: Example) -> Iterator[Result]:
    """Yield every STFT and FFT with its parameters, even if it is an argument of another call."""
    for event in example.own("op"):
        if event.name == "tf.signal.stft":
            yield _stft(example, event)
        elif event.name in _REAL:
            yield _rfft(example, event)
        elif event.name in _COMPLEX and example.timed(event):
            yield Gap(event.line, f"no workload measures {event.name}; the closest is stft")


def _stft(example: Example, event: TraceEvent) -> Result:
    given = event.arguments
    signal = given.get("signals", given.get("0"))
    parameters = _signal(signal)
    if parameters is None:
        return Gap(event.line, f"the signal of tf.signal.stft: {reason(signal)}")
    for name in ("frame_length", "frame_step"):
        number = integer(given.get(name))
        if number is None:
            return Gap(event.line, f"{name} of tf.signal.stft: {reason(given.get(name))}")
        parameters[name] = number
    length = given.get("fft_length", NONE)
    number = _power_of_two(int(parameters["frame_length"])) if length == NONE else integer(length)
    if number is None:
        return Gap(event.line, f"fft_length of tf.signal.stft: {reason(length)}")
    parameters["fft_length"] = number
    window = _window(given.get("window_fn"))
    if not window:
        return Gap(event.line, "the window of tf.signal.stft is not hann, hamming or none")
    padded = truth(given.get("pad_end", Known(False)))
    if padded is None:
        return Gap(event.line, f"pad_end of tf.signal.stft: {reason(given.get('pad_end'))}")
    parameters |= {"window": window, "pad_end": padded, "filter": _is_filtered(example, signal)}
    return placed(Found("stft", parameters, event.line), event)


def _rfft(example: Example, event: TraceEvent) -> Result:
    """Return the workload for an RFFT: an STFT with one frame and without a window."""
    signal = event.arguments.get("input_tensor", event.arguments.get("input"))
    parameters = _signal(signal)
    if parameters is None:
        return Gap(event.line, f"the input of {event.name}: {reason(signal)}")
    given = event.arguments.get("fft_length", NONE)
    length = int(parameters["samples"]) if given == NONE else None
    if length is None:
        return Gap(event.line, f"{event.name} with a length other than its input's is not recognized")
    parameters |= {"frame_length": length, "frame_step": length, "fft_length": length, "window": "none"}
    parameters |= {"pad_end": False, "filter": _is_filtered(example, signal)}
    return placed(Found("stft", parameters, event.line), event)


def _signal(value: Value | None) -> dict[str, Setting] | None:
    """Return the samples, batch and dtype of a signal with shape (…, samples); None if unknown."""
    if not isinstance(value, Tensor) or not value.shape or value.shape[-1] is None or value.dtype is None:
        return None
    batch = elements(value.shape[:-1])
    if batch is None:
        return None
    return {"samples": value.shape[-1], "batch": batch, "dtype": value.dtype}


def _window(value: Value | None) -> str:
    if value is None:
        return "hann"
    if value == NONE:
        return "none"
    if isinstance(value, Api):
        return _WINDOWS.get(value.name, "")
    return ""


def _is_filtered(example: Example, signal: Value | None) -> bool:
    return any(event.name in FILTERS for event in ancestry(example.trace, signal))


def _power_of_two(length: int) -> int:
    """Return the default FFT length of `tf.signal.stft`: the smallest power of two that is at least the
    frame length.
    """
    return 1 << max(0, length - 1).bit_length()
