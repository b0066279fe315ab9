"""What pyproject.toml can't say: the source distribution is the project as it lies in its repository.

`src/bpir` holds links to the folders of the packages. setuptools would put a copy of each there; here the links stay links, so that what
is unpacked can be changed, tested and built like a clone.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

LINKS = sorted(path for path in Path("src/bpir").iterdir() if path.is_symlink())


class LinkedSdist(sdist):
    """Packages stand where they are written, and are linked to."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        linked = tuple(f"{link.as_posix()}/" for link in LINKS)
        own = [file for file in files if not file.replace("\\", "/").startswith(linked)]
        packages = [str(path) for link in LINKS for path in sorted(Path(link.name).rglob("*.py"))]
        super().make_release_tree(base_dir, [*own, *packages])
        for link in LINKS:
            Path(base_dir, link).symlink_to(link.readlink(), target_is_directory=True)


setup(cmdclass={"sdist": LinkedSdist})
