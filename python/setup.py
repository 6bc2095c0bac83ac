"""Builds libsheaf.so with CMake and, against it, the extension module; both go into the package.

The build folder is the project's own (build/), so a tree that has been built needs only a link; SHEAF_BUILD names
another.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("SHEAF_BUILD", ROOT / "build"))
VERSION = re.search(r"project\(sheaf VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
LIBRARY = "libsheaf.so.0"  # the name that the loader looks for


class BuildWithCMake(build_ext):
    def run(self):
        if not (BUILD / "CMakeCache.txt").exists():
            subprocess.run(
                ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSHEAF_TESTS=OFF"],
                check=True,
            )
        subprocess.run(["cmake", "--build", BUILD, "--target", "sheaf_shared"], check=True)
        super().run()
        package = Path(self.get_ext_fullpath("sheaf._sheaf")).parent
        package.mkdir(parents=True, exist_ok=True)
        shutil.copy(BUILD / LIBRARY, package / LIBRARY)


setup(
    version=VERSION,
    cmdclass={"build_ext": BuildWithCMake},
    ext_modules=[
        Extension(
            "sheaf._sheaf",
            ["src/sheaf/_sheaf.cpp"],
            include_dirs=[str(ROOT / "include")],
            library_dirs=[str(BUILD)],
            libraries=["sheaf"],
            runtime_library_dirs=["$ORIGIN"],
            extra_compile_args=["-std=c++20", "-O2"],
            language="c++",
        )
    ],
)
