"""Prints the sizes of the parts of the extension module: `python -m benches.weights`.

`nm` lists the code of the release build with its symbols by function. A function belongs to the
crate that its name begins with, and an instance of a generic function to the crate that wrote it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "target/release/libboardlot.so"
BUILD = ["cargo", "build", "--release", "--locked", "--lib", "--features", "abi3"]

# Crates that a reader sees as one part, by the beginnings of their names.
PARTS = {
    "libdbus (the keychain of Linux)": (
        *("boardlot_secret_service", "dbus", "_dbus", "libdbus_sys"),
    ),
    "boardlot's sandbox": ("boardlot_sandbox",),
    "boardlot": ("boardlot",),
    "AWS-LC (TLS and signatures)": ("aws_lc",),
    "arrow (frames)": ("arrow",),
    "rustls, webpki (TLS)": ("rustls", "webpki"),
    "h2 (HTTP/2)": ("h2",),
    "hyper, reqwest, tower (HTTP)": ("hyper", "reqwest", "tower", "http", "want", "httparse"),
    "tokio, futures": ("tokio", "futures", "mio"),
    "toml, toml_edit (profiles)": ("toml", "winnow"),
    "serde_json": ("serde",),
    "PyO3": ("pyo3",),
    "mimalloc": ("mi_", "_mi_"),
    "core, alloc, std": ("core", "alloc", "std", "rustc_demangle", "gimli", "addr2line"),
    "dalek, RSA, SHA-2, Argon2 and other RustCrypto": (
        *("curve25519", "ed25519", "sha2", "argon2", "blake2", "aes", "cbc", "pkcs", "der", "pem"),
        *("digest", "hybrid_array", "spki", "cipher", "scrypt", "pbkdf2", "hmac", "salsa20"),
        *("rsa", "crypto_"),
    ),
    "jiff (dates)": ("jiff",),
    "url, idna": ("url", "idna", "unicode", "percent_encoding"),
    "gzip": ("flate2", "miniz_oxide", "crc32"),
}


def main() -> None:
    environment = {**os.environ, "CARGO_PROFILE_RELEASE_STRIP": "none"}
    subprocess.run(BUILD, cwd=ROOT, env=environment, check=True)
    weights, largest = weigh(LIBRARY)
    lines = ["# What the extension module weighs", ""]
    lines += ["Code alone, uncompressed, of this system.", ""]
    lines += ["| Part | kB |", "|---|---:|"]
    lines += [f"| {part} | {size / 1000:,.0f} |" for part, size in weights.most_common()]
    lines += [f"| **all code** | **{weights.total() / 1000:,.0f}** |", ""]
    lines += ["Other sections:", "", "| Section | kB |", "|---|---:|"]
    lines += [f"| `{name}` | {size / 1000:,.0f} |" for name, size in sections(LIBRARY)]
    lines += ["", "The largest functions:", "", "| Function | kB |", "|---|---:|"]
    lines += [f"| `{name}` | {size / 1000:,.0f} |" for name, size in largest]
    print("\n".join(lines))


def weigh(library: Path) -> tuple[Counter[str], list[tuple[str, int]]]:
    """The bytes of code of each part, and the largest functions."""
    listed = subprocess.run(
        ["nm", "--demangle", "--print-size", library], capture_output=True, text=True, check=True
    )
    weights: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for line in listed.stdout.splitlines():
        symbol = re.fullmatch(r"[0-9a-f]+ ([0-9a-f]+) [tTwW] (.+)", line)
        if symbol:
            size, name = int(symbol[1], 16), re.sub(r"::h[0-9a-f]{16}$", "", symbol[2])
            weights[part_of(name)] += size
            functions[name] += size
    return weights, functions.most_common(12)


def part_of(name: str) -> str:
    """`<&mut dbus::Connection as ...>::call` is of dbus."""
    crate = re.sub(r"^[<&*(\[]*(?:mut |dyn |const )*", "", name)
    for part, beginnings in PARTS.items():
        if crate.startswith(beginnings):
            return part
    return "all else"


def sections(library: Path) -> list[tuple[str, int]]:
    """The other sections of the installed module, the largest first."""
    listed = subprocess.run(["size", "-A", library], capture_output=True, text=True, check=True)
    found = re.findall(r"^(\.[\w.]+) +(\d+) +([1-9]\d*)$", listed.stdout, re.MULTILINE)
    sizes = sorted(((name, int(size)) for name, size, _ in found), key=lambda one: -one[1])
    return [(name, size) for name, size in sizes if name != ".text" and size > 100_000]


if __name__ == "__main__":
    main()
