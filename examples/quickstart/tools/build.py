"""Packs the package into dist/parcels.pyz. The same sources always give the same bytes."""

import hashlib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EPOCH = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    target = ROOT / "dist" / "parcels.pyz"
    target.parent.mkdir(exist_ok=True)
    files = sorted((ROOT / "parcels").rglob("*.py"))
    with zipfile.ZipFile(target, "w") as archive:
        for file in files:
            archive.writestr(zipfile.ZipInfo(str(file.relative_to(ROOT)), EPOCH), file.read_bytes())
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    print(f"packed {len(files)} files into {target.relative_to(ROOT)}, sha256 {digest[:12]}")


if __name__ == "__main__":
    main()
