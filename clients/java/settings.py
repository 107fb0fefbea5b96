"""Our list of Ozone's keys and their defaults against those that the published jars hold.

    settings.py [folder with the jars of Ozone's servers]     O3_JAVA_SERVERS when none is named
"""

import os
import pathlib
import sys
import xml.etree.ElementTree
import zipfile

OURS = pathlib.Path(__file__).resolve().parents[2] / "crates/config/src/published/keys.tsv"


def published(jars):
    """Every key of ozone-default.xml and of the files that are made from @Config classes; the former is read last."""
    keys, last = {}, {}
    for jar in sorted(pathlib.Path(jars).glob("*-2.2.0.jar")):
        with zipfile.ZipFile(jar) as files:
            for name in files.namelist():
                if "/" in name or not name.endswith("-default.xml"):
                    continue
                into = last if name == "ozone-default.xml" else keys
                for entry in xml.etree.ElementTree.fromstring(files.read(name)).findall("property"):
                    into[entry.findtext("name").strip()] = " ".join((entry.findtext("value") or "").split())
    return {**keys, **last}


def ours():
    _, *lines = OURS.read_text().splitlines()
    return dict(line.split("\t")[:2] for line in lines)


def differences(jars):
    theirs, mine = published(jars), ours()
    assert theirs, f"no keys in the jars of {jars}"
    for key in sorted(theirs.keys() | mine.keys()):
        if theirs.get(key) != mine.get(key):
            yield f"{key}: published {theirs.get(key)!r}, listed {mine.get(key)!r}"


def judge(_folder):
    """Nothing but a list is looked at: no server is started."""
    found = list(differences(os.environ["O3_JAVA_SERVERS"]))
    for line in found:
        print(f"settings: {line}", file=sys.stderr)
    return len(found)


if __name__ == "__main__":
    different = list(differences(*sys.argv[1:] or [os.environ["O3_JAVA_SERVERS"]]))
    print("\n".join(different) or "equal")
    sys.exit(bool(different))
