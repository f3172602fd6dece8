"""PyTorch of Debian (python3-torch, some 300 MB), which this installs if it is missing."""
import os
import subprocess
import sys

from common.study import ROOT, give_up

PYTHON = "/usr/bin/python3"


def need():
    """Goes on under Debian's Python, and installs PyTorch for it first if need be."""
    if os.path.realpath(sys.executable) != os.path.realpath(PYTHON):
        os.execv(PYTHON, [PYTHON, *sys.argv])
    if subprocess.run([PYTHON, "-c", "import torch, numpy"], stderr=subprocess.DEVNULL, check=False).returncode:
        install = [ROOT / "ci/steps.sh", "python3-torch", "python3-numpy"]
        if subprocess.run(["bash", "-c", '. "$0"; install_packages "$@"', *install], stdout=sys.stderr, check=False).returncode:
            give_up("python3-torch cannot be installed (see above)", 6)
