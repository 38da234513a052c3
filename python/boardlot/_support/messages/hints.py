"""Hints for situations that `boardlot doctor` and the command line distinguish.

The hints of the exception classes are in `_hints`, which is generated.
"""

from __future__ import annotations

# Credentials.
NO_CREDENTIALS = "No credentials were given: pass --profile NAME, or --key-id and --key-file."
NO_CREDENTIALS_TO_CHECK = "To check credentials, pass a profile, a key or a login."
UNKNOWN_KEY = (
    "Compare the key id with the developer page, and check that the public key was uploaded to "
    "this service."
)
OTHER_KEY = (
    "Sign with the private key whose public key was uploaded under this key id, or upload the "
    "public key that belongs to this private key."
)
BEARER_REJECTED = "The token is unknown, expired or revoked: get a new one for this base URL."
MORE_SCOPES = "If you need this permission, log in again and allow it on the consent page."
CREDENTIALS_FILE = "Check that the file exists and that you can read it."

# Token stores.
OTHER_STORE = "Make the folder writable, or choose another --store FILE."
UNWRITABLE_CONFIG = "Make the folder writable, or omit --profile: tokens are stored either way."
NO_TERMINAL = "The passphrase is then read from that file, or from the output of that command."
PASSPHRASE_FILE = (
    "Write the passphrase to a file that only you can read (mode 600), or use passphrase_command."
)
WITHOUT_SHELL = "The command runs without a shell: write `sh -c '...'` for |, >, $VARIABLE and ~."
PASSPHRASE_COMMAND = "Run the command yourself: it must print only the passphrase, and exit with 0."
BROKEN_REGISTRATION = "Delete the entry and log in again."
NO_LOGIN_IN_STORE = "Log in, or name the store of the login: --store FILE."
WRONG_LOGIN = "Check the client id, the service and --store FILE."

# Base URL, names and connections.
MISSING_BASE_URL = "Pass the address of the service, such as https://api.example.com."
CHECK_PROXY = "Check the address of the proxy, and that it is running."
UNUSED_PROXY = "To use that proxy: --proxy environment, in Python proxy='environment'."
CHECK_NAME = "Check the host in the base URL, and the DNS settings of this machine (network, VPN)."
NO_SERVER = "No server is listening: check the host and the port of the base URL."
CHECK_NETWORK = "Check the network, VPN and firewall, and whether a proxy is needed (--proxy)."

# Clocks: by `sys.platform`.
SET_CLOCK = {
    "darwin": "Let this machine set its clock automatically (System Settings, Date & Time), or "
    "run: sudo sntp -sS time.apple.com",
    "win32": "Let this machine set its clock automatically, or run as administrator: w32tm /resync",
    "linux": "Let NTP set this machine's clock: sudo timedatectl set-ntp true",
}
UNTIL_THEN = (
    "Until then, the first request of each client is rejected, and the client then corrects its "
    "signatures."
)

# Files and data.
TYPED_VALUE = "Use --format csv or jsonl: they write every value as the service sent it."
