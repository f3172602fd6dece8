"""Reads a Kubernetes manifest with the types of the Python client (Debian: python3-kubernetes), which refuse what lacks
a field that must be there or has one of another type, and refuses what they do not know."""
import json
import sys

import yaml
from kubernetes import client

KINDS = {"Service": "V1Service", "Secret": "V1Secret", "Job": "V1Job"}


class Answer:  # what ApiClient.deserialize wants: something with .data
    def __init__(self, text):
        self.data = text


def unknown(value, kind, where):
    """Fields of `value` that the type `kind` does not have, at any depth."""
    if kind.startswith("list["):
        return [name for i, item in enumerate(value) for name in unknown(item, kind[5:-1], f"{where}[{i}]")]
    if not hasattr(client, kind) or not isinstance(value, dict):
        return []
    attributes = {json: name for name, json in getattr(client, kind).attribute_map.items()}
    found = []
    for name, inner in value.items():
        if name not in attributes:
            found.append(f"{where}.{name}")
        else:
            found += unknown(inner, getattr(client, kind).openapi_types[attributes[name]], f"{where}.{name}")
    return found


def main(path):
    documents = list(yaml.safe_load_all(open(path, encoding="utf-8")))
    api = client.ApiClient()
    for document in documents:
        kind = KINDS.get(document.get("kind"))
        if kind is None:
            sys.exit(f"{path}: a {document.get('kind')} is not expected here: {', '.join(KINDS)}")
        api.deserialize(Answer(json.dumps(document)), kind)
        if names := unknown(document, kind, document["kind"]):
            sys.exit(f"{path}: no such field: {', '.join(names)}")
    jobs = [d for d in documents if d["kind"] == "Job"]
    if len(jobs) != 1 or jobs[0]["spec"].get("completionMode") != "Indexed":
        sys.exit(f"{path}: one Indexed Job is expected")
    spec = jobs[0]["spec"]
    variables = {v["name"]: v.get("value") for v in spec["template"]["spec"]["containers"][0]["env"]}
    if not spec["completions"] == spec["parallelism"] == int(variables["HOPBENCH_WORLD_SIZE"]):
        sys.exit(f"{path}: completions, parallelism and HOPBENCH_WORLD_SIZE differ")
    print(f"{len(documents)} documents are as their types want")


main(sys.argv[1])
