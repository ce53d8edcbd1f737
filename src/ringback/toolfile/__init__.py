"""The file of tools, `ringback.toml`: reading it into definitions, and writing a first one for a repository.

Reading checks everything that can be known without running anything, and tells all mistakes at once. What a server
does with a definition, and what a worker does with a profile, is not known here.
"""

from ringback.toolfile.detection import Suggestion, detect
from ringback.toolfile.loading import FILE_NAME, ToolFile, load, parse
from ringback.toolfile.problems import Problem, ToolFileError
from ringback.toolfile.writing import render_toml, write_file

__all__ = [
    "FILE_NAME",
    "Problem",
    "Suggestion",
    "ToolFile",
    "ToolFileError",
    "detect",
    "load",
    "parse",
    "render_toml",
    "write_file",
]
