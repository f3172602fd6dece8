"""Draws suites in virtual time: any protocols with any knobs, who is slow and how, faults, absences, networks."""
import os

# Each knob is drawn from its own range, but stays near its default: a run is short.
MOST = 12


def knob(random, of):
    """Returns a value of a knob as `hopbench list protocols --json` describes it, as TOML."""
    default = of["default"]
    if isinstance(default, bool):
        return random.choice(["true", "false"])
    if isinstance(default, str):
        return f'"{random.choice(of["choices"])}"'
    if isinstance(default, int):
        high = max(min(of["high"], max(MOST, default)), of["low"])
        return str(random.choice([int(of["low"]), default, random.randint(int(of["low"]), int(high))]))
    value = random.choice([default, default / 2, 2 * default, random.uniform(0, 1), of["low"]])
    return f'{min(max(value, of["low"]), of["high"]):.6g}'


def ms(random, low, high):
    return f'"{random.randint(int(low * 1000), int(high * 1000))}us"'


def ranks(random, workers):
    return sorted(random.sample(range(workers), random.randint(1, max(1, workers // 2))))


def trace(random, workers, folder, number):
    """Writes a recording, of seconds or of factors, and returns the rule that replays it."""
    name, seconds = f"trace{number}.csv", random.random() < 0.6
    kind = random.choice(["fixed", "resample_ranks", "block_bootstrap"])
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write("rank,step,seconds\n" if seconds else "rank,time,factor\n")
        for rank in range(workers):
            for step in range(random.randint(6, 9)):
                value = 0.01 * random.lognormvariate(0, 0.5) if seconds else 1 + random.expovariate(1)
                file.write(f"{rank},{step if seconds else 0.07 * step:.3g},{value:.6f}\n")
    more = "" if kind == "fixed" else ", block = 2" if seconds else ', slot = "50ms"'
    return f'{{ kind = "trace", file = "{name}", map = "{kind}"{more} }}'


def slowdown(random, workers, folder, number):
    """Returns a rule that slows workers, as TOML; it may hold for a time only."""
    kind = random.choice(["constant", "bernoulli", "exponential", "log_normal", "pareto", "markov", "trace"])
    if kind == "trace":
        return trace(random, workers, folder, number)
    keys = {"kind": f'"{kind}"'}
    if kind in ("constant", "bernoulli", "markov"):
        keys["factor"] = f"{random.choice([0.5, 1.5, 4, 10]):g}"
    if kind == "bernoulli":
        keys["probability"] = f"{random.uniform(0.05, 0.5):.3f}"
    if kind == "exponential":
        keys["scale"] = f"{random.uniform(0.1, 2):.3f}"
    if kind in ("log_normal", "pareto"):
        keys["shape"] = f"{random.uniform(0.2, 0.8) if kind == 'log_normal' else random.uniform(1.5, 4):.3f}"
    if kind == "markov":
        keys.update(slow=ms(random, 20, 300), normal=ms(random, 20, 300))
    elif kind not in ("constant",) and random.random() < 0.3:
        keys.update(per='"time"', slot=ms(random, 10, 200))
    if random.random() < 0.6:
        keys["ranks"] = str(ranks(random, workers))
    if random.random() < 0.3:
        keys["from"] = ms(random, 0, 200)
        if random.random() < 0.5:
            keys["until"] = ms(random, 250, 500)
    if random.random() < 0.2:
        keys["of"] = '"all"'
    return "{ " + ", ".join(f"{key} = {value}" for key, value in keys.items()) + " }"


def fault(random, workers):
    """Returns something that happens once to some worker, as TOML. Absences are the most frequent."""
    kind = random.choice(["away", "away", "away", "leave", "crash", "restart", "join", "hang", "cut"])
    at = f"at = {ms(random, 0, 300)}"
    if kind == "cut":
        return f'{{ kind = "cut", a = {random.randrange(workers)}, {at}, lasts = {ms(random, 1, 100)} }}'
    more = {"away": f", lasts = {ms(random, 1, 150)}", "hang": f", lasts = {ms(random, 1, 150)}",
            "restart": f", restart = {ms(random, 1, 80)}, checkpoint = {ms(random, 10, 100)}"}.get(kind, "")
    name = {"away": "leave", "restart": "crash"}.get(kind, kind)
    return f'{{ kind = "{name}", ranks = [{random.randrange(workers)}], {at}{more} }}'


def network(random, workers):
    if random.random() < 0.15:
        return ["instant = true"]
    lines = [f"latency = {ms(random, *random.choice([(0.001, 0.2), (0.1, 3), (1, 20)]))}",
             f"bandwidth = {random.choice(['0', '1e5', '1e6', '125e6'])}"]
    if random.random() < 0.3:
        lines.append(f"jitter = {random.random():.3f}")
    if random.random() < 0.3:
        lines += [f"overhead = {ms(random, 0, 0.3)}", f"processors = {random.randint(0, 2)}"]
    if random.random() < 0.4:
        lines.append(f"hosts = {random.randint(1, workers)}")
    if random.random() < 0.1:
        lines.append("servers_apart = false")
    return lines


def protocol(random, known, number):
    lines = ["[[protocol]]", f'name = "{known["name"]}"', f'label = "{number} {known["name"]}"']
    for each in known["knobs"]:
        if random.random() < 0.35:
            lines.append(f'{each["name"]} = {knob(random, each)}')
    return lines


def scenario(random, workers, folder, number):
    """Returns a scenario. The first has no faults, so that one at least is not refused."""
    rules = [slowdown(random, workers, folder, 10 * number + i) for i in range(random.choice([0, 1, 1, 1, 2]))]
    lines = ["[[scenario]]", f'name = "scenario {number}"', f"compute = [{', '.join(rules)}]"]
    if number > 0 and random.random() < 0.7:
        lines.append(f"faults = [{', '.join(fault(random, workers) for _ in range(random.randint(1, 3)))}]")
    return lines


def draw(random, protocols, folder):
    """Writes FOLDER/suite.toml and the traces beside it; returns the suite as a list of tables, each a list of lines."""
    workers = random.randint(2, 8)
    stop = f"iterations = {random.randint(6, 30)}"
    wire = random.choice([[], [f"wire_bytes = {random.choice([20_000, 1_000_000, 10_000_000])}"]])  # 96 bytes are a packet
    batch = random.choice([1, 4, 8, 10])
    if random.random() < 0.4:
        stop = f"samples = {random.randint(6, 25) * batch * workers if random.random() < 0.8 else random.randint(1, batch * workers)}"
    lr = ["lr = 0.02"] + random.choice([[], ["momentum = 0.5"], ["cosine = 20"], ["lr_warmup = 5", "cosine = 30"],
                                        ["clip = 1.0", "weight_decay = 0.01"]])
    head = ["schema = 1", 'name = "laws"', "[run]", f"world_size = {workers}", stop, "repeats = 1", 'warmup_time = "0s"',
            f'warmup = {random.choice([0, 3, 10])}', f"seed = {random.randint(1, 10**6)}", "evaluations = 2",
            "evaluation_samples = 16", "[model]", 'name = "quadratic"', "size = 24", *wire, f"batch = {batch}", "[optimizer]",
            *lr, "[compute]", 'backend = "reference"', f"pace = {ms(random, 1, 20)}",
            f"noise = {random.choice([0, 0.003, 0.1])}", f"vector_rate = {random.choice(['0', '1e5', '1e7'])}",
            "[transport]", 'name = "sim"', "[network]", *network(random, workers), "[topology]",
            f'name = "{random.choice(["ring", "complete", "exponential", "star"])}"']
    tables = [head] + [protocol(random, each, i) for i, each in enumerate(random.sample(protocols, 7))]
    tables += [scenario(random, workers, folder, i) for i in range(2)]
    return tables + [["[[measure]]", f'what = "{random.choice(["rate", "convergence"])}"']]
