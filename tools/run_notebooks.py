"""Runs all notebooks, or those that are named, from top to bottom, and stores their outputs.

Each runs in an empty folder, against the sandbox that it starts. Times of runs and versions of
Python are not stored, so that only outputs change; charts are kept small.
"""

import asyncio
import os
import sys
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from PIL import Image

NOTEBOOKS = sorted(
    (Path(__file__).parents[1] / "notebooks").glob("*.ipynb"),
    key=lambda path: int(path.stem.partition("-")[0]),
)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a new run, in an empty folder.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell has failed.
    """
    with TemporaryDirectory() as folder:
        return run_in(folder, nbformat.read(path, as_version=4))


def run_in(
    folder: str, notebook: nbformat.NotebookNode, *, allow_errors: bool = False
) -> nbformat.NotebookNode:
    """The notebook with the outputs of a new run in this folder; raises as `run` does, unless
    errors are outputs.
    """
    with TemporaryDirectory() as sockets:
        resources = {"metadata": {"path": folder}}
        options = {"timeout": 300, "startup_timeout": 120, "record_timing": False}
        options["allow_errors"] = allow_errors
        # On a busy machine, a kernel may send the output of one cell in several parts.
        options["coalesce_streams"] = True
        client = NotebookClient(notebook, kernel_name="python3", resources=resources, **options)
        manager = client.create_kernel_manager()
        if os.name == "posix":
            # The ports of a kernel are found free and bound later: another process may be first.
            manager.transport, manager.ip = "ipc", str(Path(sockets) / "kernel")
        asyncio.run(client.async_execute())
    notebook.metadata = METADATA
    return notebook


def shrink(notebook: nbformat.NotebookNode) -> None:
    """Give the notebook's charts a palette of 64 colors, which look the same to the eye."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                chart = Image.open(BytesIO(b64decode(output.data["image/png"]))).convert("RGB")
                small = BytesIO()
                chart.quantize(64, dither=Image.Dither.NONE).save(small, "png", optimize=True)
                output.data["image/png"] = b64encode(small.getvalue()).decode()


if __name__ == "__main__":
    for path in [path for path in NOTEBOOKS if not sys.argv[1:] or path.stem in sys.argv[1:]]:
        print(path.name)
        notebook = run(path)
        shrink(notebook)
        nbformat.write(notebook, path)
