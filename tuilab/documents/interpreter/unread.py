"""Guesses what unknown calls do, from the names of the library and the function."""

import re
import sys

from tuilab.documents.interpreter.values import RESULT_OF
from tuilab.documents.words import words

# Libraries that do not run TensorFlow, so a call to them cannot include the first call of an op.
_APART = frozenset(sys.stdlib_module_names) - set(
    words("threading multiprocessing concurrent subprocess asyncio runpy")
) | set(
    words(
        "open xrange psutil six torch torchvision torchaudio onnxruntime onnx numba cupy jax mlx mxnet cv2"
        " PIL pandas sklearn scipy requests tqdm progressbar streamlit mlflow wandb matplotlib seaborn plotly"
        " yaml h5py tabulate prettytable colorama pynvml GPUtil datasets imageio skimage librosa boto3"
        " tensorrt pycuda openvino paddle flask fastapi gradio rich click absl termcolor joblib nltk"
        " dlib face_recognition pytesseract easyocr mediapipe pyaudio serial gpiozero RPi picamera"
    )
)
# Descriptions of unknown code that yields items or wraps the body of a `with` statement.
_HANDS_OUT = ("iterating over an unknown value", "a context manager")
_SETS_UP = re.compile(
    r"(?:print|show|plot|draw|save|load|log|info|warn|error|debug|summary|count|get|set|describe|visuali[sz]e"
    r"|display|compile|freeze|quanti[sz]e|prune|export|register|build|make|create|init|configure|add|append|read"
    r"|write|parse|format|record|report|update|preprocess|prepare|normali[sz]e|decode|seed)(?:_|$|(?=[A-Z]))"
)
# Words in the names of functions that run a model and wait for its result. The model may be an argument.
_RUNS = re.compile(
    r"warm|train|fit|predict|infer|evaluat|bench|run|step|forward|generate|test|detect|classif|recogni[sz]"
    r"|segment|transcri|embed|decision_function",
    re.IGNORECASE,
)


# Frameworks whose models are called like Keras models.
OTHERS = frozenset(
    words(
        "torch torchvision jax flax mxnet paddle onnxruntime openvino tensorrt tflite_runtime ai_edge_litert"
        " transformers ultralytics mlx cupy coremltools pycuda sentence_transformers tflearn"
    )
)
_MAKES = re.compile(
    r"^(?:build|create|make|get|load|define|construct)_?(?:\w*_)?(?:model|net|network|cnn|unet|resnet|vgg)\w*$"
    r"|^(?:vgg|resnet|mobilenet|efficientnet|inception|densenet|unet|xception)\w*$"
    r"|^\w*(?:Net|Model|CNN|UNet|VGG|ResNet|Generator|Discriminator|Autoencoder|VAE)(?:V?\d+)?\w{0,3}$",
    re.IGNORECASE,
)
# Attributes found almost only in Keras models.
OF_KERAS = words("predict_on_batch train_on_batch test_on_batch trainable_variables count_params predict")
# Attributes found almost only in TFLite interpreters.
OF_LITE = words("set_tensor get_tensor allocate_tensors get_input_details get_output_details")
_MODELS = words("model net network keras_model tf_model")
SESSION = re.compile(r"^_?(?:tf_?)?sess(?:ion)?$", re.IGNORECASE)


def assumes_keras(imported: set[str]) -> bool:
    return bool(imported & {"tensorflow", "keras", "tf_keras"}) and not imported & OTHERS


def makes_model(name: str) -> bool:
    root, _, rest = name.partition(".")
    return bool(rest) and root not in _APART and root != "tf" and bool(_MAKES.match(rest.rpartition(".")[2]))


def assumed_by(name: str, attribute: str) -> str:
    """Guess what an undefined variable is, from its name and an attribute that the code uses: `model`, `lite`
    (a TFLite interpreter), `session`, or "" if unclear.
    """
    if attribute in OF_KERAS:
        return "model"
    if attribute in OF_LITE:
        return "lite"
    return "session" if attribute == "run" and SESSION.match(name) else ""


def is_model(parameter: str) -> bool:
    return parameter in _MODELS


_TIMER = re.compile(
    r"^(?:\w+_)?(?:timer|timing|timed|stopwatch|time_?block|elapsed(?:_time)?|benchmark|measure_?time)$",
    re.IGNORECASE,
)


def is_timer(reason: str) -> bool:
    """Return True if the name of an unknown call suggests that it returns a context manager that measures
    time.
    """
    dotted = callee(reason)
    root, _, word = dotted.rpartition(".")
    return (
        reason.startswith(RESULT_OF) and root not in ("threading", "torch.utils") and bool(_TIMER.match(word))
    )


_TIMES = re.compile(
    r"^(?:\w+_)?(?:timer|timing|timed|time_?it|time_?this|stopwatch|benchmark|measure(?:_?time)?|execution_time)"
    r"(?:_?(?:decorator|func(?:tion)?|wrapper))?$",
    re.IGNORECASE,
)


def times_functions(name: str) -> bool:
    root, _, word = name.rpartition(".")
    return root.partition(".")[0] not in ("pytest", "threading", "sched") and bool(_TIMES.match(word or name))


# Patterns of function names, by the action that they suggest. Computing with TensorFlow is not among the
# actions.
_DOES = {
    "a picture is taken from a camera": r"VideoCapture|camera|webcam",
    "an image is read": r"imread|(?:load|read|open)(?:_(?:img|image)|Im(?:g|age))s?|read_file"
    r"|decode_(?:jpeg|png|image)",
    "results are drawn or written": r"decode_predictions|imshow|imwrite|putText|rectangle|circle"
    r"|waitKey|savefig|save_?(?:[Ii]mages?|[Ii]mg|[Rr]esults?)|draw\w*|plot\w*|visuali[sz]e\w*|(?:show|display)_\w+",
    "a file is read or written": r"h5py",
    "a sound is read": r"librosa|soundfile|wavfile|audiofile|(?:load|read|open)_?(?:audio|wav|sound)s?",
    "results are evaluated": r"(?:accuracy|precision|recall|f1|roc_auc|r2)_score|log_loss"
    r"|classification_report",
    "data is fetched": r"urlretrieve|urlopen|dataset_download|get_file|download\w*|fetch_\w+",
    "data is read or generated": r"read_(?:csv|excel|parquet|pickle)|genfromtxt|loadtxt|train_test_split"
    r"|(?:load|read|get)_(?!crop)(?:\w*_)?(?:data|dataset|images?|inputs?|samples?|mnist|cifar)\w*"
    r"|image_dataset_from_directory|flow_from_directory|(?:train|test)_data|source_raw_data\w*",
    "data is prepared": r"melspectrogram|mfccs?|preprocess\w*|augment\w*|prepare_\w+|make_batch\w*"
    r"|one_hot_batch|img_to_array",
    "the model is loaded or built": r"load_model|from_pretrained|load_weights"
    r"|(?:build|create)_(?:\w*_)?(?:model|net|graph)\w*",
}
_CAMERA = RESULT_OF + "cv2.VideoCapture"
# Actions of functions by full name, for functions whose last word is too common.
_DOES_BY_NAME = {
    "an image is read": r"PIL\.Image\.open",
    "a file is read or written": r"open|io\.open|gzip\.open|np\.(?:load|save\w*|fromfile|memmap)"
    r"|(?:json|pickle|cPickle|dill|joblib|yaml|toml)\.(?:load|dump|safe_load|safe_dump)|h5py\.File"
    r"|scipy\.io\.(?:loadmat|savemat)|shutil\.\w+|zipfile\.ZipFile|tarfile\.open|(?:nib|nibabel)\.(?:load|save)",
}
_NAMED = {what: re.compile(f"(?:{pattern})$") for what, pattern in _DOES_BY_NAME.items()}
_DRAWN = re.compile(r"(?:rectangle|text|line|ellipse|polygon|arc|point)$")
# Methods that write or fetch a file, called on an unknown result.
_WRITES = re.compile(
    r"to_(?:csv|json|excel|parquet|pickle|hdf)$|(?:write|read)_(?:text|bytes)$|(?:up|down)load_(?:blob|file|fileobj)$"
)
_WORDS = {what: re.compile(f"(?:{pattern})$") for what, pattern in _DOES.items()}


def set_up(name: str) -> str:
    """Return a phrase such as "a file is read or written" for an unknown function that computes nothing; ""
    if its name does not show what it does.
    """
    dotted = callee(name)
    parts = dotted.split(".")[-2:]
    if name.startswith(RESULT_OF) and not name.startswith(_CAMERA):
        # The function is a method of another call's result.
        picture = dotted.startswith("PIL.Image.") and parts[-1] == "save"
        if parts[-1] == "add_summary":
            return "a summary is written"
        if dotted.startswith("PIL.ImageDraw.Draw.") and _DRAWN.match(parts[-1]):
            return "results are drawn or written"
        writes = picture or bool(_WRITES.match(parts[-1]))
        return "a file is read or written" if writes else ""
    by_name = next((what for what, known in _NAMED.items() if known.match(dotted)), "")
    if by_name:
        return by_name
    return next((what for what, words_ in _WORDS.items() if any(words_.match(p) for p in parts)), "")


def callee(name: str) -> str:
    """Return the callee's dotted name from the reason why a value is unknown: `the result of cv2.imread` →
    `cv2.imread`.
    """
    return name.removeprefix(RESULT_OF).partition(" ")[0].partition("(")[0]


_MODEL_CALLED = re.compile(
    r"^(?:(?:keras|tf|my|trained|loaded|base|student|teacher|quant\w*)_)?(?:model|net|network"
    r"|classifier|generator|discriminator|encoder|decoder)\d?$"
    r"|infer|forward|detect_?fn|predict_fn|(?:train|test|val\w*|eval\w*)_?step|step_fn",
    re.IGNORECASE,
)


# Functions that only move computed data to the host.
_GIVES = words("numpy item tolist dates shape")
# Libraries in which all functions compute with TensorFlow.
_ON_TENSORFLOW = frozenset(
    words("tensorflow_probability gpflow sionna tf_quant_finance tfdiffeq tensorcircuit zfit")
)


def computes(name: str) -> bool:
    """Return True if an unknown call's name suggests that it runs a model."""
    word = _last_word(name)
    # A capitalized name is usually a class, so the call only creates an object. If the owner is capitalized
    # too, the name is a method of a class.
    made = word[:1].isupper() and not callee(name).rpartition(".")[0].rpartition(".")[2][:1].isupper()
    if not runs_tensorflow(name) or _SETS_UP.match(word) or made or word in _GIVES:
        return False
    if is_on_tensorflow(name):
        return True
    return bool(_RUNS.search(word) or _MODEL_CALLED.search(word))


def runs_what_it_is_given(name: str) -> bool:
    return runs_tensorflow(name) and bool(_RUNS.search(_last_word(name)))


def calls_model(name: str) -> bool:
    return computes(name) and (is_on_tensorflow(name) or bool(_MODEL_CALLED.search(_last_word(name))))


def is_on_tensorflow(name: str) -> bool:
    return callee(name).partition(".")[0] in _ON_TENSORFLOW


def _last_word(name: str) -> str:
    return callee(name).rpartition(".")[2]


def runs_tensorflow(name: str) -> bool:
    """Return True if an unknown call may run TensorFlow, for example through a model passed to it."""
    if name in _HANDS_OUT:
        return False
    dotted = callee(name)
    root, word = dotted.partition(".")[0], dotted.rpartition(".")[2]
    return root not in _APART and not (_SETS_UP.match(word) and not _RUNS.search(word))
