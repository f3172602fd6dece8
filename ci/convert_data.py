"""The unpacked packages of ci/fetch-data in the forms that hopbench reads.

    /usr/bin/python3 ci/convert_data.py cifar10 SOURCE TARGET        six PNGs and two lists of labels -> data_batch_1..5.bin, test_batch.bin
    /usr/bin/python3 ci/convert_data.py spamassassin SOURCE TARGET   6046 mails -> {trigram,unigram}.{train,test}.svm

SOURCE is a package's folder, TARGET an empty one. Ends with 1 and a line that says why, if the source is not what it should be.
Debian's python3; cifar10 needs python3-pil too.
"""
import hashlib
import json
import math
import pathlib
import sys


def check(truth, why):
    if not truth:
        sys.exit(f"ci/convert_data.py: {why}")


def say(text):
    print(f"ci/fetch-data: {text}", file=sys.stderr, flush=True)


# --- CIFAR-10 ------------------------------------------------------------------------------------------------------------------------

PIXELS = 1024       # of a picture: 32x32
PICTURES = 10000    # of a file


def moments(histograms):
    """Mean and deviation, in 0 to 1, of one channel, from the counts of its 256 values."""
    counts = [sum(h[v] for h in histograms) for v in range(256)]
    n = sum(counts)
    mean = sum(v * c for v, c in enumerate(counts)) / n
    variance = sum((v - mean) ** 2 * c for v, c in enumerate(counts)) / n
    return mean / 255, math.sqrt(variance) / 255


def cifar10_file(source, labels, target):
    """A PNG whose rows are pictures becomes records of a label, 1024 red, 1024 green, 1024 blue bytes. Returns its histograms."""
    from PIL import Image
    Image.MAX_IMAGE_PIXELS = None
    image = Image.open(source)
    check(image.size == (PIXELS, PICTURES), f"{source} is {image.size[0]}x{image.size[1]}, not {PIXELS}x{PICTURES}")
    channels = image.convert("RGB").split()
    planes = [channel.tobytes() for channel in channels]
    with open(target, "wb") as to:
        for i, label in enumerate(labels):
            to.write(bytes([label]))
            for plane in planes:
                to.write(plane[i * PIXELS:(i + 1) * PIXELS])
    return [channel.histogram() for channel in channels]


def cifar10(source, target):
    train = json.loads((source / "train_lables.json").read_text())  # the package's spelling
    test = json.loads((source / "test_lables.json").read_text())
    check(len(train) == 50000 and len(test) == 10000, f"{len(train)} and {len(test)} labels, not 50000 and 10000")
    check(train[:5] == [6, 9, 9, 4, 1], f"training labels begin {train[:5]}, not 6, 9, 9, 4, 1")
    check(test[:5] == [3, 8, 8, 0, 6], f"test labels begin {test[:5]}, not 3, 8, 8, 0, 6")
    for name, labels, each in (("training", train, 5000), ("test", test, 1000)):
        check(all(labels.count(c) == each for c in range(10)), f"{name} labels are not {each} of each of 10 classes")
    histograms = []
    for k in range(1, 6):
        say(f"converting batch {k} of 6")
        name = f"data_batch_{k}"
        histograms.append(cifar10_file(source / f"{name}.png", train[(k - 1) * PICTURES:k * PICTURES], target / f"{name}.bin"))
    say("converting batch 6 of 6")
    cifar10_file(source / "test_batch.png", test, target / "test_batch.bin")
    for c, (name, mean, deviation) in enumerate((("red", .4914, .2470), ("green", .4822, .2435), ("blue", .4465, .2616))):
        found = moments([h[c] for h in histograms])
        check(abs(found[0] - mean) < 6e-5 and abs(found[1] - deviation) < 6e-5,
              f"the {name} channel has mean {found[0]:.5f} and deviation {found[1]:.5f}, not {mean} and {deviation}")


# --- SpamAssassin --------------------------------------------------------------------------------------------------------------------

def row(label, counts):
    """A svmlight line: columns ascending, from 1; values are counts, divided so that the squares sum to 1."""
    norm = math.sqrt(sum(n * n for n in counts.values()))
    return f"{label} " + " ".join(f"{c + 1}:{counts[c] / norm:.6g}" for c in sorted(counts)) + "\n"


def counted(keys):
    counts = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return counts


def trigrams(mail):
    """Column b0 * 65536 + b1 * 256 + b2, of each three bytes in a row."""
    return counted(a << 16 | b << 8 | c for a, b, c in zip(mail, mail[1:], mail[2:]))


def spamassassin(source, target):
    mails = sorted(p for p in (source / "data").glob("*/*.txt"))
    groups = counted(p.parent.name for p in mails)
    check(groups == {"easy-ham-1": 2500, "easy-ham-2": 1400, "hard-ham-1": 250, "spam-1": 500, "spam-2": 1396},
          f"other mails than expected: {groups}")

    # A division that needs no generator of random numbers: in the order of a hash of the mail's name, a fifth is the test set.
    def place(path):
        return hashlib.sha256(f"hopbench 1 {path.parent.name}/{path.name}".encode()).digest()

    mails.sort(key=place)
    tests = len(mails) // 5
    files = {(form, part): open(target / f"{form}.{part}.svm", "w", encoding="ascii")
             for form in ("trigram", "unigram") for part in ("train", "test")}
    for i, path in enumerate(mails):
        if i % 1000 == 0:
            say(f"counting bytes of mail {i} of {len(mails)}")
        mail = path.read_bytes()
        part = "test" if i < tests else "train"
        label = "+1" if path.parent.name.startswith("spam") else "-1"
        check(len(mail) >= 3, f"{path} has no text")
        files["trigram", part].write(row(label, trigrams(mail)))
        files["unigram", part].write(row(label, counted(mail)))
    for file in files.values():
        file.close()


if __name__ == "__main__":
    check(len(sys.argv) == 4 and sys.argv[1] in ("cifar10", "spamassassin"), "wants cifar10 or spamassassin, SOURCE and TARGET")
    globals()[sys.argv[1]](pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
