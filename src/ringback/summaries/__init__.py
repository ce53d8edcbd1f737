"""One line about a finished command, made from what test runners print; and output turned into plain text.

Pure and free of dependencies: text and bytes in, values out.
"""

from ringback.summaries.sentence import TEXT_MAX, Summary
from ringback.summaries.spec import FILE_BYTES_MAX, Format, Spec, parse_spec, wanted_files
from ringback.summaries.summarizer import OUTPUT_CHARS_MAX, summarize
from ringback.summaries.text import clean_text

__all__ = [
    "FILE_BYTES_MAX",
    "OUTPUT_CHARS_MAX",
    "TEXT_MAX",
    "Format",
    "Spec",
    "Summary",
    "clean_text",
    "parse_spec",
    "summarize",
    "wanted_files",
]
